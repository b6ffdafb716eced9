// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/path_cache.h"

#include <gtest/gtest.h>

#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {
namespace {

constexpr Instant kStart{seconds(100).ns};

class PathCacheTest : public ::testing::Test {
 protected:
  Flow flow_to(uint8_t last) { return {ipv4(10, 0, 0, 1), ipv4(10, 0, 0, last), 0xc000, 0, 64}; }
  const PathCache::Path& lookup(Instant now, uint8_t last = 2) {
    return cache_.lookup(flow_to(last), now);
  }
  LinkPath answer_{LinkPath::Kind::kFrames, true, {}, {}, 1500};
  int asked_ = 0;
  PathCache cache_{[this](const Flow&) {
    ++asked_;
    return answer_;
  }};
};

TEST_F(PathCacheTest, AsksOncePerDestination) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(lookup(kStart).link, answer_);
    EXPECT_EQ(lookup(kStart, 3).link, answer_);
  }
  EXPECT_EQ(asked_, 2);
}

TEST_F(PathCacheTest, TrafficClassesHavePathsOfTheirOwn) {
  Flow flow = flow_to(2);
  cache_.lookup(flow, kStart);
  flow.traffic_class = 8;
  cache_.lookup(flow, kStart);
  flow.source_port = 0xd000;  // does not matter
  cache_.lookup(flow, kStart);
  EXPECT_EQ(asked_, 2);
}

TEST_F(PathCacheTest, AsksAgainAfterAChange) {
  lookup(kStart);
  answer_.mtu = 9000;
  cache_.forget(kStart);
  EXPECT_EQ(lookup(kStart).link.mtu, 9000U);
  EXPECT_EQ(asked_, 2);
}

// A neighbour that answers changes its state more than once.
TEST_F(PathCacheTest, AsksAgainAtOnceAfterSomeChanges) {
  lookup(kStart);
  for (uint32_t change = 1; change <= 4; ++change) {
    answer_.mtu = 4000 + change;
    cache_.forget(kStart);
    EXPECT_EQ(lookup(kStart).link.mtu, 4000 + change);
  }
}

// Expect: of a flood of reports each interval one makes it ask again, and the last is not lost.
TEST_F(PathCacheTest, AFloodOfReportsCostsLittle) {
  Instant now = kStart;
  for (int i = 0; i < 1000; ++i) {
    cache_.forget(now);
    lookup(now);
    now = now + microseconds(40);
  }
  EXPECT_LE(asked_, 4 + PathCache::kForgetsAtOnce);
  answer_.mtu = 4000;
  EXPECT_EQ(lookup(now + PathCache::kForgetInterval).link.mtu, 4000U);
}

TEST_F(PathCacheTest, ANeighbourThatIsConfirmedIsNotAskedFor) {
  lookup(kStart);
  const Instant later = kStart + PathCache::kConfirmInterval;
  EXPECT_FALSE(lookup(later).ask_kernel);
  EXPECT_EQ(asked_, 2);
}

TEST_F(PathCacheTest, OnePacketAsksForANeighbourThatIsNotConfirmed) {
  answer_.confirmed = false;
  EXPECT_FALSE(lookup(kStart).ask_kernel);
  const Instant later = kStart + PathCache::kConfirmInterval;
  EXPECT_TRUE(lookup(later).ask_kernel);
  EXPECT_FALSE(lookup(later).ask_kernel);
  EXPECT_FALSE(lookup(later + seconds(1)).ask_kernel);
}

TEST_F(PathCacheTest, RemembersABoundedNumber) {
  Flow flow = flow_to(2);
  for (uint32_t i = 0; i < 3 * PathCache::kMaxPaths; ++i) {
    flow.destination = ipv4(11, static_cast<uint8_t>(i >> 16), static_cast<uint8_t>(i >> 8),
                            static_cast<uint8_t>(i));
    EXPECT_EQ(cache_.lookup(flow, kStart).link.mtu, 1500U);
  }
  EXPECT_EQ(asked_, static_cast<int>(3 * PathCache::kMaxPaths));
}

}  // namespace
}  // namespace urxe::test
