// SPDX-License-Identifier: BSD-2-Clause
// The bounds of a connection manager, and messages that are for no communication.
#include <cerrno>

#include "tests/transport/cm/bench.h"
#include "transport/cm/cm_core.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmBounds, WhatNobodyTakesOutIsDroppedAndCounted) {
  CmConfig config = Bench::default_config();
  config.max_ids = 4;
  Bench bench(config);
  constexpr uint64_t kRequests = 5000;
  for (uint64_t i = 0; i < kRequests; ++i) {
    // From many sources: of each so few that its own quota is not used up.
    CmReq req = peer_request();
    req.local_comm_id = CommId{static_cast<uint32_t>(i)};
    bench.receive_from(gid_of(static_cast<uint8_t>(i)), req);
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

/// A connection that has ended here; the peer asks for the longest time-wait.
CommId leave_in_time_wait(Bench& bench, uint32_t number) {
  CmReq req = peer_request();
  req.local_comm_id = CommId{kPeerId.value() + number};
  req.local_qpn = Qpn{kPeerQpn.value() + number};
  req.primary.ack_timeout = 31;
  bench.receive(req);
  const CommId id = bench.expect_event(CmEvent::Kind::kRequest).id;
  CmRep rep;
  rep.local_qpn = kOurQpn;
  EXPECT_TRUE(bench.cm.accept(id, rep, bench.now));
  bench.receive(CmRtu{req.local_comm_id, id, {}});
  bench.receive(CmDreq{req.local_comm_id, id, kOurQpn, {}});
  while (bench.cm.take_event()) continue;
  bench.cm.destroy(id, bench.now);
  while (bench.sent()) continue;
  return id;
}

TEST(CmBounds, TimeWaitsMakeRoomForNewCommunications) {
  CmConfig config = Bench::default_config();
  config.max_ids = 4;
  Bench bench(config);
  bench.listen();
  for (uint32_t i = 0; i < 4; ++i) leave_in_time_wait(bench, i);
  ASSERT_EQ(bench.cm.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(bench.connect(), CommId{});
    EXPECT_EQ(bench.cm.size(), 4u);
  }
  const Flow flow = flow_between(bench.ours, bench.peer);
  const auto fifth = bench.cm.connect(request_template(), flow, kLifetime, bench.now);
  ASSERT_FALSE(fifth) << "takes the place of one that is no time-wait";
  EXPECT_EQ(fifth.error().value, ENOMEM);
}

TEST(CmBounds, ATimeWaitThatTheConsumerHasStaysUntilItsEnd) {
  CmConfig config = Bench::default_config();
  config.max_ids = 1;
  Bench bench(config);
  const CommId id = bench.connect_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  ASSERT_TRUE(bench.cm.answer_disconnect(id, {}, bench.now));
  ASSERT_EQ(bench.cm.state(id), CmState::kTimeWait);
  const Flow flow = flow_between(bench.ours, bench.peer);
  EXPECT_FALSE(bench.cm.connect(request_template(), flow, kLifetime, bench.now));
  bench.cm.destroy(id, bench.now);
  EXPECT_TRUE(bench.cm.connect(request_template(), flow, kLifetime, bench.now));
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
    bench.expect_sent<CmReq>();
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

// Expect: no more peers wait for the consumer's look at their ports than may, and none twice.
TEST(CmBounds, FewPeersAreToldToBeQuietAtOnce) {
  CmCore core(Bench::default_config());
  for (int round = 0; round < 2; ++round) {
    for (uint8_t host = 2; host < 2 + kMaxQuiet / 2; ++host) {
      core.tell_quiet(flow_between(gid_of(1), gid_of(host)));
    }
  }
  EXPECT_EQ(core.quiet.size(), kMaxQuiet / 2);
  for (uint8_t host = 2; host < 100; ++host) {
    core.tell_quiet(flow_between(gid_of(1), gid_of(host)));
  }
  EXPECT_EQ(core.quiet.size(), kMaxQuiet);
}

}  // namespace
}  // namespace urxe::test
