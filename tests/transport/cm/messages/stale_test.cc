// SPDX-License-Identifier: BSD-2-Clause
// Stale connections (IBTA vol. 1, 12.9.8.3.1): the peer uses a queue pair for a new connection that
// an old one still names.
#include "tests/transport/cm/timers/probing.h"
#include "transport/cm/timers/probe.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

constexpr CommId kOtherId{0x7000'0009};

CmReq second_request() {
  CmReq req = peer_request();
  req.local_comm_id = kOtherId;
  return req;
}

TEST(CmStale, ANewRequestIsRejectedAndTheOldConnectionEnded) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(second_request());
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kStaleConnection);
  EXPECT_EQ(rej.remote_comm_id, kOtherId);
  EXPECT_EQ(bench.expect_sent<CmDreq>().local_comm_id, id);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kDreqSent);
  // The peer knows nothing of the old one.
  bench.receive(CmDrep{kPeerId, id, {}});
  bench.expect_event(Kind::kDisconnected);
  bench.receive(second_request());
  bench.expect_event(Kind::kRequest);
}

TEST(CmStale, WithoutAnAnswerTheOldConnectionEndsByTime) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(second_request());
  bench.expect_sent<CmRej>();
  while (bench.cm.state(id) == CmState::kDreqSent && bench.advance_to_deadline()) {
  }
  bench.expect_event(Kind::kDisconnectTimeout);
}

TEST(CmStale, AnotherAddressCannotEndAConnection) {
  // Expect: the GUID and queue pair of the peer's, told by somebody else, mean somebody else's.
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive_from(gid_of(66), second_request());
  bench.expect_event(Kind::kRequest);
  bench.expect_nothing_sent();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

void receive_from_port(Bench& bench, uint16_t port, const CmReq& req) {
  Flow flow = flow_between(bench.peer, bench.ours);
  flow.source_port = port;
  bench.cm.receive(emit_cm_message({kPeerTransaction, req}), flow, bench.now);
}

TEST(CmStale, AnotherPortOfThePeersAddressCannotEndAConnection) {
  Bench bench;
  bench.listen();
  receive_from_port(bench, 0xc001, peer_request());
  const CommId id = bench.expect_event(Kind::kRequest).id;
  ASSERT_TRUE(bench.cm.accept(id, {}, bench.now));
  bench.expect_sent<CmRep>();
  bench.receive(CmRtu{kPeerId, id, {}});
  bench.expect_event(Kind::kEstablished);
  receive_from_port(bench, 0xc002, second_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kStaleConnection);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  bench.advance(kLeastRetryInterval);
  receive_from_port(bench, 0xc001, second_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kStaleConnection);
  EXPECT_EQ(bench.expect_sent<CmDreq>().local_comm_id, id);
}

TEST(CmStale, APeerThatCanBeAskedIsAsked) {
  Bench bench(probing());
  const CommId other = connect_to(bench, CommId{kPeerId.value() + 1});
  const CommId id = bench.accept_established();
  bench.receive(second_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kStaleConnection);
  bench.expect_quiet();
  bench.advance(nanoseconds(2));
  const auto probe = bench.expect_sent<CmDreq>();
  EXPECT_EQ(probe.remote_qpn, kProbeQpn);
  EXPECT_EQ(probe.local_comm_id, id);
  answer(bench, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);

  bench.advance(kLeastRetryInterval);
  bench.receive(second_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kStaleConnection);
  bench.advance(milliseconds(1));  // the turn of the process
  bench.advance(milliseconds(1));
  EXPECT_EQ(bench.expect_sent<CmDreq>().remote_qpn, kProbeQpn);
  bench.receive(CmDrep{kPeerId, id, {}}, bench.transaction_id);
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).id, id);
  EXPECT_EQ(bench.cm.state(other), CmState::kEstablished);
}

TEST(CmStale, ManyForgedRequestsCauseFewQuestions) {
  CmConfig config = probing();
  config.probes_per_second = 10;
  Bench bench(config);
  const CommId id = bench.accept_established();
  uint32_t questions = 0;
  for (int i = 0; i < 1000; ++i) {
    bench.receive(second_request());
    bench.advance(milliseconds(1));
    while (const auto message = bench.sent()) {
      if (!std::holds_alternative<CmDreq>(message->body)) continue;
      ++questions;
      answer(bench, id, message->transaction_id);
    }
  }
  EXPECT_GT(questions, 0u);
  EXPECT_LE(questions, 11u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmStale, AQueuePairInTimeWaitMayBeUsedByThePeer) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_event(Kind::kDisconnectRequest);
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDrep>();
  bench.receive(second_request());
  bench.expect_event(Kind::kRequest);
}

TEST(CmStale, AReplyThatNamesAQueuePairInUseIsRejected) {
  Bench bench;
  const CommId old = bench.connect_established();
  const CommId id = bench.connect();
  CmRep rep = peer_reply(id);
  rep.local_comm_id = kOtherId;
  const uint64_t transaction = bench.transaction_id;
  bench.receive(rep, transaction);
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kStaleConnection);
  EXPECT_EQ(rej.rejected, CmAnswered::kRep);
  EXPECT_EQ(rej.remote_comm_id, kOtherId);
  EXPECT_EQ(bench.expect_sent<CmDreq>().local_comm_id, old);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kReqSent);
  // Once the old one is over, the reply is as good as any.
  bench.receive(CmDrep{kPeerId, old, {}});
  bench.expect_event(Kind::kDisconnected);
  bench.receive(rep, transaction);
  EXPECT_EQ(bench.expect_event(Kind::kReply).id, id);
}

TEST(CmStale, AReplyWithAnIdInUseChangesNothing) {
  Bench bench;
  const CommId old = bench.connect_established();
  const CommId id = bench.connect();
  CmRep rep = peer_reply(id);
  rep.local_qpn = Qpn{0x77};
  bench.receive(rep);
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongState), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kReqSent);
  EXPECT_EQ(bench.cm.state(old), CmState::kEstablished);
}

}  // namespace
}  // namespace urxe::test
