// SPDX-License-Identifier: BSD-2-Clause
// The end of a connection, and time-wait (IBTA vol. 1, 12.9.5 to 12.9.8).
#include <cerrno>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmDisconnect, AsksAndIsAnswered) {
  Bench bench;
  const CommId id = bench.connect_established();
  const std::vector<uint8_t> data{1};
  ASSERT_TRUE(bench.cm.disconnect(id, data, bench.now));
  const auto dreq = bench.expect_sent<CmDreq>();
  EXPECT_EQ(dreq.local_comm_id, id);
  EXPECT_EQ(dreq.remote_comm_id, kPeerId);
  EXPECT_EQ(dreq.remote_qpn, kPeerQpn);
  EXPECT_EQ(dreq.private_data.bytes[0], 1);
  CmDrep drep{kPeerId, id, {}};
  drep.private_data.assign(std::vector<uint8_t>{2});
  bench.receive(drep, bench.transaction_id);
  EXPECT_EQ(std::get<CmDrep>(bench.expect_event(Kind::kDisconnected).body).private_data.bytes[0],
            2);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.expect_quiet();
}

TEST(CmDisconnect, TimeWaitOfTheActiveEndIsTwiceTheLifetimeAndThePeersDelay) {
  Bench bench;
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.receive(CmDrep{kPeerId, id, {}});
  bench.expect_event(Kind::kDisconnected);
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(kLifetime) * 2 + iba_time(15));
  bench.advance_to_deadline();
  EXPECT_EQ(bench.expect_event(Kind::kTimeWaitExit).id, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.cm.destroy(id, bench.now);
  EXPECT_EQ(bench.cm.size(), 0u);
}

TEST(CmDisconnect, TimeWaitOfThePassiveEndIsThePeersAckTimeout) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_event(Kind::kDisconnectRequest);
  ASSERT_TRUE(bench.cm.answer_disconnect(id, {}, bench.now));
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(kAckTimeout));
}

TEST(CmDisconnect, RepeatsItsRequestThenGivesUp) {
  Bench bench;
  const CommId id = bench.accept_established();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDreq>();
  const uint64_t transaction = bench.transaction_id;
  for (unsigned retry = 0; retry < kRetries; ++retry) {
    bench.advance(response_timeout());
    bench.expect_sent<CmDreq>();
    EXPECT_EQ(bench.transaction_id, transaction);
    bench.expect_quiet();
  }
  bench.advance(response_timeout());
  bench.expect_event(Kind::kDisconnectTimeout);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
}

TEST(CmDisconnect, AnswersThePeersRequestInItsTransaction) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}}, 0x777);
  bench.expect_event(Kind::kDisconnectRequest);
  bench.expect_nothing_sent();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}}, 0x777);
  bench.expect_quiet();
  const std::vector<uint8_t> data{8};
  ASSERT_TRUE(bench.cm.disconnect(id, data, bench.now)) << "as answer_disconnect()";
  const auto drep = bench.expect_sent<CmDrep>();
  EXPECT_EQ(bench.transaction_id, 0x777u);
  EXPECT_EQ(drep.private_data.bytes[0], 8);
  EXPECT_EQ(drep.remote_comm_id, kPeerId);
  // Expect: the same again for a duplicate in time-wait.
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}}, 0x777);
  EXPECT_EQ(bench.expect_sent<CmDrep>().private_data.bytes[0], 8);
  EXPECT_EQ(bench.duplicates(CmAttribute::kDreq), 2u);
  bench.expect_quiet();
}

TEST(CmDisconnect, WhereBothAskEachIsAnswered) {
  Bench bench;
  const CommId id = bench.accept_established();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDreq>();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}}, 0x778);
  bench.expect_sent<CmDrep>();
  EXPECT_EQ(bench.transaction_id, 0x778u);
  bench.expect_event(Kind::kDisconnected);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.receive(CmDrep{kPeerId, id, {}});
  bench.expect_quiet();
}

TEST(CmDisconnect, ARequestForNobodyIsAnswered) {
  Bench bench;
  bench.receive(CmDreq{kPeerId, CommId{99}, kOurQpn, {}});
  const auto drep = bench.expect_sent<CmDrep>();
  EXPECT_EQ(drep.local_comm_id, CommId{99});
  EXPECT_EQ(drep.remote_comm_id, kPeerId);
  EXPECT_EQ(bench.transaction_id, kPeerTransaction);
  bench.expect_quiet();
}

TEST(CmDisconnect, ARequestForAnotherQueuePairIsIgnored) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, Qpn{0x99}, {}});
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongState), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmDisconnect, ARequestFromAnotherAddressIsIgnored) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive_from(gid_of(66), CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmDisconnect, MayComeBeforeTheConfirmation) {
  Bench bench;
  const CommId id = bench.accept();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  EXPECT_EQ(bench.expect_event(Kind::kDisconnectRequest).id, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kDreqReceived);
  EXPECT_FALSE(bench.cm.next_deadline());
  ASSERT_TRUE(bench.cm.answer_disconnect(id, {}, bench.now));
  bench.expect_sent<CmDrep>();
}

TEST(CmDisconnect, ARejectionEndsAnEstablishedConnection) {
  Bench bench;
  const CommId id = bench.accept_established();
  CmRej rej;
  rej.local_comm_id = kPeerId;
  rej.remote_comm_id = id;
  rej.rejected = CmAnswered::kRep;
  bench.receive(rej);
  bench.expect_event(Kind::kRejected);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
}

}  // namespace
}  // namespace urxe::test
