// SPDX-License-Identifier: BSD-2-Clause
// Listeners, ids and bounds.
#include <cerrno>
#include <unordered_set>

#include "tests/transport/cm/bench.h"
#include "transport/cm/id_sequence.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmListeners, OneOfAServiceAndAddress) {
  Bench bench;
  const ListenerId any = bench.listen();
  EXPECT_NE(any, ListenerId{});
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, std::nullopt).error().value, EADDRINUSE);
  EXPECT_TRUE(bench.cm.listen(kService, kAllBits, bench.ours));
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, bench.ours).error().value, EADDRINUSE);
  EXPECT_EQ(bench.cm.listen(kService, ~uint64_t{0xffff}, std::nullopt).error().value, EADDRINUSE);
  EXPECT_TRUE(bench.cm.listen(ServiceId{kService.value() + 1}, kAllBits, std::nullopt));
  bench.cm.stop_listening(any);
  EXPECT_TRUE(bench.cm.listen(kService, kAllBits, std::nullopt));
}

TEST(CmListeners, TheOneOnTheAddressIsPreferred) {
  Bench bench;
  const ListenerId any = bench.listen();
  const ListenerId local = *bench.cm.listen(kService, kAllBits, bench.ours);
  ASSERT_TRUE(bench.cm.listen(kService, kAllBits, gid_of(9)));
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, local);
  bench.cm.stop_listening(local);
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x7000'0002};
  req.local_qpn = Qpn{0x23};
  bench.receive(req);
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, any);
}

TEST(CmListeners, AMaskTakesManyServices) {
  Bench bench;
  const auto all = bench.cm.listen(ServiceId{0x0106'0000}, ~uint64_t{0xffff}, std::nullopt);
  ASSERT_TRUE(all);
  EXPECT_EQ(bench.cm.listen(kService, kAllBits, std::nullopt).error().value, EADDRINUSE);
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_event(Kind::kRequest).listener, *all);
  bench.cm.stop_listening(*all);
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x7000'0002};
  req.local_qpn = Qpn{0x23};
  bench.receive(req);
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kInvalidServiceId);
}

TEST(CmListeners, AreBounded) {
  CmConfig config = Bench::default_config();
  config.max_ids = 2;
  Bench bench(config);
  ASSERT_TRUE(bench.cm.listen(ServiceId{1}, kAllBits, std::nullopt));
  ASSERT_TRUE(bench.cm.listen(ServiceId{2}, kAllBits, std::nullopt));
  EXPECT_EQ(bench.cm.listen(ServiceId{3}, kAllBits, std::nullopt).error().value, ENOMEM);
}

TEST(CmIds, AreNever0AndDoNotComeBack) {
  CmIdSequence ids(SipKey{5, 6}, 0);
  std::unordered_set<uint32_t> seen;
  for (int i = 0; i < 300000; ++i) {
    const uint32_t id = ids.next_id().value();
    ASSERT_NE(id, 0u);
    ASSERT_EQ(id >> kCommIdIndexBits, 0u);
    ASSERT_TRUE(seen.insert(id).second);
  }
}

TEST(CmIds, CarryThePrefixAndDependOnTheSecret) {
  CmIdSequence one(SipKey{1, 2}, 7);
  CmIdSequence other(SipKey{1, 3}, 7);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const CommId id = one.next_id();
    EXPECT_EQ(id.value() >> kCommIdIndexBits, 7u);
    equal += id == other.next_id();
  }
  EXPECT_LT(equal, 3);
  EXPECT_NE(one.next_transaction(), one.next_transaction());
}

TEST(CmBounds, WhatNobodyTakesOutIsDroppedAndCounted) {
  CmConfig config = Bench::default_config();
  config.max_ids = 4;
  Bench bench(config);
  constexpr uint64_t kRequests = 5000;
  for (uint64_t i = 0; i < kRequests; ++i) {
    // From many sources: of each so few that its own quota is not used up.
    bench.receive_from(gid_of(static_cast<uint8_t>(i)), peer_request());
  }
  uint64_t sent = 0;
  while (bench.cm.take_outgoing() != nullptr) ++sent;
  EXPECT_EQ(
      sent + bench.count_of(MadDropReason::kNoRoom) + bench.count_of(MadDropReason::kOverQuota),
      kRequests);
  EXPECT_GT(bench.count_of(MadDropReason::kNoRoom), 0u);
  EXPECT_EQ(bench.cm.counters().sent[index_of(CmAttribute::kRej)], sent);
  EXPECT_LT(sent, 2000u);
}

TEST(CmBounds, ConfiguresOnlyWhileNothingIsThere) {
  Bench bench;
  const CommId id = bench.connect();
  CmConfig config = Bench::default_config();
  config.ca_guid = 77;
  config.id_prefix = 9;
  bench.cm.configure(config);
  EXPECT_EQ(bench.cm.state(id), CmState::kReqSent);
  bench.cm.destroy(id, bench.now);
  bench.expect_sent<CmRej>();
  bench.cm.configure(config);
  EXPECT_EQ(bench.connect().value() >> kCommIdIndexBits, 9u);
}

TEST(CmBounds, ThousandsOfConnectionsEndWithoutARest) {
  Bench bench;
  std::vector<CommId> ids;
  for (uint32_t i = 0; i < 20000; ++i) {
    const auto id = bench.cm.connect(request_template(), flow_between(bench.ours, bench.peer),
                                     kLifetime, bench.now);
    ASSERT_TRUE(id);
    CmRep rep = peer_reply(*id);
    rep.local_comm_id = CommId{0x7000'0000 + i};
    rep.local_qpn = Qpn{i + 2};
    bench.receive(rep);
    ASSERT_TRUE(bench.cm.confirm(*id, {}, bench.now));
    ids.push_back(*id);
    while (bench.cm.take_outgoing() != nullptr) {
    }
    bench.expect_event(Kind::kReply);
  }
  for (const CommId id : ids) bench.cm.destroy(id, bench.now);
  while (bench.advance_to_deadline()) {
    while (bench.cm.take_outgoing() != nullptr) {
    }
  }
  EXPECT_EQ(bench.cm.size(), 0u);
}

TEST(CmReceive, WhatIsNoMessageIsCountedAndDropped) {
  Bench bench;
  const Flow flow = flow_between(bench.peer, bench.ours);
  MadBytes mad = emit_cm_message({1, peer_request()});
  bench.cm.receive(std::span(mad).first(255), flow, bench.now);
  EXPECT_EQ(bench.count_of(MadDropReason::kLength), 1u);
  mad[1] = 0x03;  // subnet administration
  bench.cm.receive(mad, flow, bench.now);
  EXPECT_EQ(bench.count_of(MadDropReason::kClass), 1u);
  bench.expect_quiet();
}

TEST(CmReceive, MessagesForNobodyAreCounted) {
  Bench bench;
  bench.receive(CmRtu{kPeerId, CommId{9}, {}});
  bench.receive(CmDrep{kPeerId, CommId{9}, {}});
  bench.receive(CmMra{kPeerId, CommId{9}, CmAnswered::kReq, 1, {}});
  CmRej rej;
  rej.remote_comm_id = CommId{9};
  bench.receive(rej);
  CmApr apr;
  apr.remote_comm_id = CommId{9};
  bench.receive(apr);
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kUnknownId), 5u);
}

}  // namespace
}  // namespace urxe::test
