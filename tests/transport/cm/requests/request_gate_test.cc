// SPDX-License-Identifier: BSD-2-Clause
// Floods of requests, and what is left for others.
#include "transport/cm/requests/request_gate.h"

#include <algorithm>
#include <vector>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

Gid source_of(uint32_t number) {
  const uint8_t address[4] = {10, static_cast<uint8_t>(number >> 16),
                              static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)};
  return Gid::from_ipv4(address);
}

/// A request that is another one than that of any other number.
CmReq request_number(uint32_t number) {
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x4000'0000 + number};
  req.local_qpn = Qpn{0x1000 + number};
  return req;
}

struct Flooded : Bench {
  explicit Flooded(const CmConfig& config = default_config()) : Bench(config) { listen(); }

  void ask(const Gid& source, uint32_t number) { receive_from(source, request_number(number)); }
  /// The consumer takes the requests that it is told of, and answers each. Returns their sources.
  std::vector<Gid> accept_all() {
    std::vector<Gid> sources;
    while (const auto event = cm.take_event()) {
      if (event->kind != Kind::kRequest) continue;
      sources.push_back(event->flow.source);
      CmRep rep;
      rep.local_qpn = Qpn{next_qpn++};
      if (cm.accept(event->id, rep, now)) accepted.push_back({event->id, event->flow.source});
    }
    return sources;
  }
  uint32_t take_requests() {
    uint32_t count = 0;
    while (const auto event = cm.take_event()) count += event->kind == Kind::kRequest;
    return count;
  }
  size_t drain() {
    size_t count = 0;
    while (cm.take_outgoing() != nullptr) ++count;
    return count;
  }

  struct Accepted {
    CommId id;
    Gid source;
  };
  std::vector<Accepted> accepted;
  uint32_t next_qpn = 0x100;
};

constexpr uint32_t kOfOne = CmRequestLimits{}.max_replied_of_one;

// Expect: as many queue pairs as one source may have half-open, not one a request.
TEST(CmRequests, OneSourceMayHaveFewUnanswered) {
  Flooded bench;
  for (uint32_t i = 0; i < 20000; ++i) {
    bench.ask(source_of(1), i);
    bench.accept_all();
  }
  EXPECT_EQ(bench.accepted.size(), kOfOne);
  EXPECT_LE(bench.cm.size(), kOfOne + CmRequestLimits{}.max_waiting / 3);
  EXPECT_GT(bench.count_of(MadDropReason::kOverQuota), 10000u);
}

TEST(CmRequests, AnotherSourceConnectsMeanwhile) {
  Flooded bench;
  for (uint32_t i = 0; i < 5000; ++i) {
    bench.ask(source_of(1), i);
    bench.accept_all();
  }
  bench.ask(bench.peer, 77777);
  const std::vector<Gid> told = bench.accept_all();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], bench.peer);
}

TEST(CmRequests, AHundredSourcesLeaveRoomForAnother) {
  Flooded bench;
  for (uint32_t i = 0; i < 50000; ++i) {
    bench.ask(source_of(i % 100), i);
    bench.accept_all();
  }
  EXPECT_LE(bench.accepted.size(), CmRequestLimits{}.max_replied);
  for (uint32_t i = 0; i < 3; ++i) {
    bench.ask(bench.peer, 77777 + i);
    EXPECT_EQ(bench.accept_all(), std::vector<Gid>{bench.peer});
  }
}

// Expect: the requests that wait are told as the connections before them are established.
TEST(CmRequests, AnHonestBurstWaitsForItsTurnAndIsNotLost) {
  Flooded bench;
  constexpr uint32_t kBurst = 1000;
  bench.ask(bench.peer, 0);
  bench.accept_all();
  for (uint32_t i = 1; i < kBurst; ++i) bench.ask(bench.peer, i);
  size_t confirmed = 0;
  while (!bench.accept_all().empty() || confirmed < bench.accepted.size()) {
    for (; confirmed < bench.accepted.size(); ++confirmed) {
      const CommId peer_id{0x4000'0000 + static_cast<uint32_t>(confirmed)};
      bench.receive(CmRtu{peer_id, bench.accepted[confirmed].id, {}});
    }
    bench.drain();
  }
  EXPECT_EQ(confirmed, kBurst);
  EXPECT_EQ(bench.count_of(MadDropReason::kOverQuota), 0u);
}

// A server may gather all its clients before it answers the first.
TEST(CmRequests, AConsumerMayHoldManyBeforeItAnswers) {
  Flooded bench;
  for (uint32_t i = 0; i < 1000; ++i) bench.ask(bench.peer, i);
  EXPECT_EQ(bench.take_requests(), 1000u);
}

// Expect: of forged addresses few get in; one that repeats its request does.
TEST(CmRequests, ForgedSourcesAreAskedToRepeat) {
  Flooded bench;
  for (uint32_t i = 0; i < 20000; ++i) {
    bench.ask(source_of(i), i);
    bench.accept_all();
  }
  EXPECT_EQ(bench.accepted.size(), CmRequestLimits{}.max_sources);
  bench.ask(bench.peer, 77777);
  EXPECT_TRUE(bench.accept_all().empty());
  bench.ask(bench.peer, 77777);
  EXPECT_TRUE(bench.accept_all().empty()) << "a copy at once is no repetition";
  bench.advance(milliseconds(250));
  bench.ask(bench.peer, 77777);
  EXPECT_EQ(bench.accept_all(), std::vector<Gid>{bench.peer});
}

// Expect: a source with a connection is none of those.
TEST(CmRequests, AKnownSourceNeedNotRepeat) {
  Flooded bench;
  bench.ask(bench.peer, 0);
  bench.accept_all();
  bench.receive(CmRtu{CommId{0x4000'0000}, bench.accepted[0].id, {}});
  for (uint32_t i = 1; i < 5000; ++i) bench.ask(source_of(i), i);
  bench.accept_all();
  bench.ask(bench.peer, 77777);
  EXPECT_EQ(bench.accept_all(), std::vector<Gid>{bench.peer});
}

// The flood repeats its requests, as an honest peer does. Expect: sources with connections connect.
TEST(CmRequests, AKnownSourceConnectsBesideManyThatRepeat) {
  Flooded bench;
  bench.ask(bench.peer, 0);
  bench.accept_all();
  bench.receive(CmRtu{CommId{0x4000'0000}, bench.accepted[0].id, {}});
  for (int times = 0; times < 4; ++times) {
    for (uint32_t i = 1; i < 20000; ++i) {
      bench.ask(source_of(i), i);
      bench.accept_all();
      bench.drain();
    }
    bench.advance(milliseconds(300));
    bench.ask(bench.peer, 77777 + static_cast<uint32_t>(times));
    const std::vector<Gid> told = bench.accept_all();
    EXPECT_NE(std::ranges::find(told, bench.peer), told.end());
  }
  EXPECT_LE(bench.cm.size(), 2 * CmRequestLimits{}.max_waiting);
}

// Expect: REPs that nobody answers make room for others after a second, not after the time that the
// requests ask for.
TEST(CmRequests, OverdueOnesMakeRoom) {
  CmConfig config = Bench::default_config();
  config.requests.max_replied = 8;
  Flooded bench(config);
  for (uint32_t i = 0; i < 16; ++i) {
    bench.ask(source_of(i), i);
    bench.accept_all();
  }
  EXPECT_EQ(bench.accepted.size(), 6u) << "a quarter is for others";
  bench.advance(milliseconds(1001));
  bench.ask(bench.peer, 77777);
  while (!bench.accept_all().empty()) {
  }
  EXPECT_EQ(bench.accepted.size(), 7u);
}

/// A peer leaves its REPs unanswered, and says that it may take hours. Expect: it does not keep
/// others of its network out, neither a new request nor one that waits and is repeated.
TEST(CmRequests, OverdueOnesMakeRoomForOthersOfTheirSource) {
  constexpr uint32_t kWaits = 77777;
  for (const uint32_t next : {kWaits, kWaits + 1}) {
    Flooded bench;
    for (uint32_t i = 0; i < kOfOne + 16; ++i) {
      CmReq req = request_number(i);
      req.local_cm_response_timeout = 31;
      req.primary.ack_timeout = 31;
      req.max_cm_retries = 15;
      bench.receive_from(bench.peer, req);
      bench.accept_all();
    }
    ASSERT_EQ(bench.accepted.size(), kOfOne);
    bench.advance(milliseconds(3000));
    bench.ask(bench.peer, kWaits);
    EXPECT_TRUE(bench.accept_all().empty()) << "they may still answer";
    bench.advance(milliseconds(1001));
    bench.ask(bench.peer, next);
    bench.accept_all();
    EXPECT_EQ(bench.accepted.size(), kOfOne + 17 + (next - kWaits));
  }
}

TEST(CmRequests, AllEndsWhenItsTimeIsOver) {
  Flooded bench;
  for (uint32_t i = 0; i < 5000; ++i) {
    bench.ask(source_of(i % 7), i);
    bench.accept_all();
  }
  // The consumer destroys what it is told is over, and takes no more.
  for (int turns = 0; bench.cm.size() > 0 && turns < 1'000'000; ++turns) {
    while (const auto event = bench.cm.take_event()) bench.cm.destroy(event->id, bench.now);
    for (const auto& one : bench.accepted) bench.cm.destroy(one.id, bench.now);
    bench.accepted.clear();
    bench.drain();
    if (!bench.advance_to_deadline()) break;
  }
  EXPECT_EQ(bench.cm.size(), 0u);
}

TEST(CmRequests, WhoTakesARequestBackThatWaitsLeavesNothing) {
  CmConfig config = Bench::default_config();
  config.requests.max_replied_of_one = 1;
  Flooded bench(config);
  bench.ask(bench.peer, 0);
  bench.accept_all();
  bench.ask(bench.peer, 1);
  EXPECT_EQ(bench.cm.size(), 2u);
  CmRej rej;
  rej.local_comm_id = CommId{0x4000'0001};
  rej.rejected = CmAnswered::kOther;
  rej.reason = CmRejectReason::kTimeout;
  rej.additional_info.assign(std::array<uint8_t, 8>{0x02, 0, 0, 0xff, 0xfe, 0, 0, 0x02});
  bench.drain();
  bench.receive(rej);
  EXPECT_EQ(bench.cm.size(), 1u);
  bench.expect_quiet();
}

TEST(CmRequests, AHostWithManyIpv6AddressesIsOneSource) {
  Gid one = Gid::from_ipv6(std::array<uint8_t, 16>{0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 5}.data());
  Gid other = Gid::from_ipv6(std::array<uint8_t, 16>{0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 6}.data());
  EXPECT_EQ(source_key(one), source_key(other));
  other.bytes[7] = 2;
  EXPECT_NE(source_key(one), source_key(other));
  EXPECT_NE(source_key(gid_of(1)), source_key(gid_of(2)));
}

}  // namespace
}  // namespace urxe::test
