// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/route_cache.h"

#include <gtest/gtest.h>

#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {
namespace {

constexpr Instant kStart{seconds(100).ns};

class RouteCacheTest : public ::testing::Test {
 protected:
  Flow flow_to(uint8_t last) { return {ipv4(10, 0, 0, 1), ipv4(10, 0, 0, last), 0xc000, 0, 64}; }
  const RouteCache::Route& lookup(Instant now, uint8_t last = 2) {
    return cache_.lookup(flow_to(last), now);
  }
  LinkRoute answer_{LinkRoute::Kind::kFrames, true, {}, {}, 1500};
  int asked_ = 0;
  RouteCache cache_{[this](const Flow&) {
    ++asked_;
    return answer_;
  }};
};

TEST_F(RouteCacheTest, AsksOncePerDestination) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lookup(kStart).link, answer_);
    EXPECT_EQ(lookup(kStart, 3).link, answer_);
  }
  EXPECT_EQ(asked_, 2);
}

TEST_F(RouteCacheTest, TrafficClassesHaveRoutesOfTheirOwn) {
  Flow flow = flow_to(2);
  cache_.lookup(flow, kStart);
  flow.traffic_class = 8;
  cache_.lookup(flow, kStart);
  flow.source_port = 0xd000;  // does not matter
  cache_.lookup(flow, kStart);
  EXPECT_EQ(asked_, 2);
}

TEST_F(RouteCacheTest, AsksAgainAfterAChange) {
  lookup(kStart);
  answer_.mtu = 9000;
  cache_.forget(kStart);
  EXPECT_EQ(lookup(kStart).link.mtu, 9000U);
  EXPECT_EQ(asked_, 2);
}

// A neighbour that answers changes its state more than once.
TEST_F(RouteCacheTest, AsksAgainAtOnceAfterSomeChanges) {
  lookup(kStart);
  for (uint32_t change = 1; change <= 4; ++change) {
    answer_.mtu = 4000 + change;
    cache_.forget(kStart);
    EXPECT_EQ(lookup(kStart).link.mtu, 4000 + change);
  }
}

// Expect: of a flood of reports each interval one makes it ask again, and the last is not lost.
TEST_F(RouteCacheTest, AFloodOfReportsCostsLittle) {
  Instant now = kStart;
  for (int i = 0; i < 1000; ++i) {
    cache_.forget(now);
    lookup(now);
    now = now + microseconds(40);
  }
  EXPECT_LE(asked_, 4 + RouteCache::kForgetsAtOnce);
  answer_.mtu = 4000;
  EXPECT_EQ(lookup(now + RouteCache::kForgetInterval).link.mtu, 4000U);
}

// A lookup that failed once left a destination to UDP until the kernel reported a change.
TEST_F(RouteCacheTest, AsksAgainAfterALookupThatFailed) {
  const LinkRoute works = answer_;
  for (const auto kind : {LinkRoute::Kind::kOther, LinkRoute::Kind::kUnresolved}) {
    const Instant start = kStart + seconds(kind == LinkRoute::Kind::kOther ? 0 : 100);
    answer_ = {};
    answer_.kind = kind;
    cache_.forget(start);
    EXPECT_EQ(lookup(start).link.kind, kind);
    answer_ = works;
    EXPECT_EQ(lookup(start + RouteCache::kRetryInterval - microseconds(1)).link.kind, kind);
    EXPECT_EQ(lookup(start + RouteCache::kRetryInterval).link, works);
    EXPECT_FALSE(lookup(start + RouteCache::kRetryInterval).ask_kernel);
  }
}

TEST_F(RouteCacheTest, ANeighbourThatIsConfirmedIsNotAskedFor) {
  lookup(kStart);
  const Instant later = kStart + RouteCache::kConfirmInterval;
  EXPECT_FALSE(lookup(later).ask_kernel);
  EXPECT_EQ(asked_, 2);
}

TEST_F(RouteCacheTest, OnePacketAsksForANeighbourThatIsNotConfirmed) {
  answer_.confirmed = false;
  EXPECT_FALSE(lookup(kStart).ask_kernel);
  const Instant later = kStart + RouteCache::kConfirmInterval;
  EXPECT_TRUE(lookup(later).ask_kernel);
  EXPECT_FALSE(lookup(later).ask_kernel);
  EXPECT_FALSE(lookup(later + seconds(1)).ask_kernel);
}

TEST_F(RouteCacheTest, RemembersABoundedNumber) {
  Flow flow = flow_to(2);
  for (uint32_t i = 0; i < 3 * RouteCache::kMaxRoutes; ++i) {
    flow.destination = ipv4(11, static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8),
                            static_cast<uint8_t>(i));
    EXPECT_EQ(cache_.lookup(flow, kStart).link.mtu, 1500U);
  }
  EXPECT_EQ(asked_, static_cast<int>(3 * RouteCache::kMaxRoutes));
  flow.destination = ipv4(11, 0, 0, 0);
  cache_.lookup(flow, kStart);
  EXPECT_EQ(asked_, static_cast<int>(3 * RouteCache::kMaxRoutes) + 1) << "the first is forgotten";
}

}  // namespace
}  // namespace urxe::test
