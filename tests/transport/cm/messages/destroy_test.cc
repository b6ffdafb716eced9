// SPDX-License-Identifier: BSD-2-Clause
// What the peer is owed when the consumer forgets a communication, by state.
#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

/// Time-wait and what remains to be sent goes on, without a word to the consumer.
void expect_nothing_left(Bench& bench) {
  while (bench.advance_to_deadline()) bench.expect_no_event();
  EXPECT_EQ(bench.cm.size(), 0u);
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmDestroy, ARequestIsTakenBack) {
  Bench bench;
  const CommId id = bench.connect();
  bench.cm.destroy(id, bench.now);
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kTimeout);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.additional_info.size, 8);
  EXPECT_FALSE(bench.cm.state(id));
  expect_nothing_left(bench);
}

TEST(CmDestroy, ARequestOfThePeersIsRejected) {
  Bench bench;
  bench.cm.destroy(bench.be_asked(), bench.now);
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kConsumer);
  EXPECT_EQ(rej.rejected, CmAnswered::kReq);
  expect_nothing_left(bench);
}

TEST(CmDestroy, AReplyIsRejected) {
  Bench bench;
  bench.cm.destroy(bench.connect_and_reply(), bench.now);
  EXPECT_EQ(bench.expect_sent<CmRej>().rejected, CmAnswered::kRep);
  expect_nothing_left(bench);
}

TEST(CmDestroy, AReplyIsTakenBackAndTimeWaits) {
  Bench bench;
  const CommId id = bench.accept();
  bench.cm.destroy(id, bench.now);
  EXPECT_EQ(bench.expect_sent<CmRej>().local_comm_id, id);
  EXPECT_EQ(bench.cm.size(), 1u);
  EXPECT_FALSE(bench.cm.state(id));
  expect_nothing_left(bench);
}

TEST(CmDestroy, AConnectionIsEndedAsIfByItsConsumer) {
  Bench bench;
  const CommId id = bench.connect_established();
  bench.cm.destroy(id, bench.now);
  bench.expect_sent<CmDreq>();
  bench.advance(response_timeout());
  bench.expect_sent<CmDreq>();
  bench.receive(CmDrep{kPeerId, id, {}});
  bench.expect_quiet();
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(kLifetime) * 2 + iba_time(15));
  expect_nothing_left(bench);
}

TEST(CmDestroy, ADisconnectRequestIsAnswered) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.cm.destroy(id, bench.now);
  bench.expect_sent<CmDrep>();
  bench.expect_no_event();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_sent<CmDrep>();
  expect_nothing_left(bench);
}

TEST(CmDestroy, TheTargetOfAnExtendedConnectionIsLeftToItsPeer) {
  // Expect: no DREQ; the queue pair may be somebody else's too.
  Bench bench;
  bench.listen();
  CmReq req = peer_request();
  req.transport = CmTransport::kExtended;
  req.extended_transport = 1;
  bench.receive(req);
  const CommId id = bench.expect_event(Kind::kRequest).id;
  ASSERT_TRUE(bench.cm.accept(id, {}, bench.now));
  bench.expect_sent<CmRep>();
  bench.receive(CmRtu{kPeerId, id, {}});
  bench.cm.destroy(id, bench.now);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.size(), 0u);
}

TEST(CmDestroy, EventsThatWaitGoWithIt) {
  Bench bench;
  const CommId first = bench.connect();
  const CommId second = bench.connect();
  CmRep other = peer_reply(second);
  other.local_comm_id = CommId{0x7000'0009};
  other.local_qpn = Qpn{0x29};
  bench.receive(peer_reply(first));
  bench.receive(other);
  bench.cm.destroy(first, bench.now);
  EXPECT_EQ(bench.expect_event(Kind::kReply).id, second);
  bench.expect_no_event();
}

TEST(CmDestroy, VerbsOnAForgottenIdAreInvalid) {
  Bench bench;
  const CommId id = bench.connect_established();
  bench.cm.destroy(id, bench.now);
  bench.expect_sent<CmDreq>();
  EXPECT_FALSE(bench.cm.disconnect(id, {}, bench.now));
  EXPECT_FALSE(bench.cm.communication_established(id, bench.now));
  bench.cm.destroy(id, bench.now);
  bench.expect_quiet();
}

}  // namespace
}  // namespace urxe::test
