// SPDX-License-Identifier: BSD-2-Clause
// The end that is asked for a connection (IBTA vol. 1, 12.9.6).
#include <cerrno>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

CmRep our_reply() {
  CmRep rep;
  rep.local_qpn = kOurQpn;
  return rep;
}

TEST(CmPassive, HandsTheRequestToItsListener) {
  Bench bench;
  const ListenerId listener = bench.listen();
  CmReq req = peer_request();
  req.private_data.assign(std::vector<uint8_t>{4});
  bench.receive(req);
  const CmEvent event = bench.expect_event(Kind::kRequest);
  EXPECT_EQ(event.listener, listener);
  EXPECT_EQ(event.flow.source, bench.peer);
  EXPECT_EQ(std::get<CmReq>(event.body).private_data.bytes[0], 4);
  EXPECT_EQ(bench.cm.state(event.id), CmState::kReqReceived);
  bench.expect_quiet();
}

TEST(CmPassive, RefusesAServiceThatNobodyListensFor) {
  Bench bench;
  bench.receive(peer_request());
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(bench.transaction_id, kPeerTransaction);
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidServiceId);
  EXPECT_EQ(rej.rejected, CmAnswered::kReq);
  EXPECT_EQ(rej.remote_comm_id, kPeerId);
  EXPECT_EQ(bench.last_flow.destination, bench.peer);
  EXPECT_EQ(bench.cm.size(), 0u);
  bench.expect_quiet();
}

TEST(CmPassive, AcceptsAndIsEstablishedByTheConfirmation) {
  Bench bench;
  const CommId id = bench.be_asked();
  ASSERT_TRUE(bench.cm.accept(id, our_reply(), bench.now));
  const auto rep = bench.expect_sent<CmRep>();
  EXPECT_EQ(bench.transaction_id, kPeerTransaction);
  EXPECT_EQ(rep.local_comm_id, id);
  EXPECT_EQ(rep.remote_comm_id, kPeerId);
  EXPECT_EQ(rep.local_ca_guid, kOurGuid);
  EXPECT_EQ(rep.local_qpn, kOurQpn);
  CmRtu rtu{kPeerId, id, {}};
  rtu.private_data.assign(std::vector<uint8_t>{6});
  bench.receive(rtu);
  EXPECT_EQ(std::get<CmRtu>(bench.expect_event(Kind::kEstablished).body).private_data.bytes[0], 6);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.receive(rtu);
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kRtu), 1u);
}

TEST(CmPassive, RepeatsTheReplyUntilTheRetriesOfTheRequestAreUsedUp) {
  Bench bench;
  const CommId id = bench.accept();
  for (unsigned retry = 0; retry < kRetries; ++retry) {
    bench.advance(response_timeout() - nanoseconds(1));
    bench.expect_quiet();
    bench.advance(nanoseconds(1));
    bench.expect_sent<CmRep>();
    EXPECT_EQ(bench.transaction_id, kPeerTransaction);
  }
  bench.advance(response_timeout());
  EXPECT_EQ(bench.expect_event(Kind::kReplyTimeout).id, id);
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kTimeout);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
}

TEST(CmPassive, ADuplicateRequestGetsTheSameReply) {
  Bench bench;
  const CommId id = bench.accept();
  const Instant deadline = *bench.cm.next_deadline();
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_sent<CmRep>().local_comm_id, id);
  bench.expect_quiet();
  EXPECT_EQ(*bench.cm.next_deadline(), deadline);
  EXPECT_EQ(bench.duplicates(CmAttribute::kReq), 1u);
  EXPECT_EQ(bench.cm.size(), 1u);
}

TEST(CmPassive, ADuplicateRequestIsAskedForTimeWhereTheConsumerIsSlow) {
  Bench bench;
  const CommId id = bench.be_asked();
  bench.receive(peer_request());
  bench.expect_quiet();  // the peer has granted more time than that
  bench.advance(iba_time(kResponse));
  for (int again = 0; again < 2; ++again) {
    bench.receive(peer_request());
    const auto mra = bench.expect_sent<CmMra>();
    EXPECT_EQ(mra.answered, CmAnswered::kReq);
    EXPECT_EQ(mra.remote_comm_id, kPeerId);
    EXPECT_EQ(mra.service_timeout, CmConfig{}.slow_consumer_timeout);
    bench.receive(peer_request());
    bench.expect_quiet();  // answered just now
    bench.advance(milliseconds(100));
  }
  EXPECT_EQ(bench.cm.state(id), CmState::kMraReqSent);
  EXPECT_TRUE(bench.cm.accept(id, our_reply(), bench.now));
  bench.expect_sent<CmRep>();
}

TEST(CmPassive, TheConsumerMayAskForTimeItself) {
  Bench bench;
  const CommId id = bench.be_asked();
  const std::vector<uint8_t> data{3};
  ASSERT_TRUE(bench.cm.delay(id, 24, data, bench.now));
  const auto mra = bench.expect_sent<CmMra>();
  EXPECT_EQ(mra.service_timeout, 24);
  EXPECT_EQ(mra.private_data.bytes[0], 3);
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_sent<CmMra>().service_timeout, 24);
}

TEST(CmPassive, ADuplicateRequestOfAnEstablishedConnectionIsIgnored) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(peer_request());
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kReq), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmPassive, ADuplicateRequestInTimeWaitIsStale) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  ASSERT_TRUE(bench.cm.answer_disconnect(id, {}, bench.now));
  bench.expect_sent<CmDrep>();
  bench.receive(peer_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kStaleConnection);
}

TEST(CmPassive, WhoAsksAgainAfterARejectedReplyIsToldTheSameReason) {
  // Expect: the REJ that was lost, now as one of the REQ: the peer has never seen our id.
  Bench bench;
  const CommId id = bench.accept();
  const std::vector<uint8_t> data{42};
  ASSERT_TRUE(bench.cm.reject(id, CmRejectReason::kNoResources, {}, data, bench.now));
  EXPECT_EQ(bench.expect_sent<CmRej>().rejected, CmAnswered::kOther);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.receive(peer_request());
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kNoResources);
  EXPECT_EQ(rej.rejected, CmAnswered::kReq);
  EXPECT_EQ(rej.private_data.bytes[0], 42);
}

TEST(CmPassive, AConfirmationOfARejectedConnectionIsRejectedAgain) {
  Bench bench;
  const CommId id = bench.accept();
  ASSERT_TRUE(bench.cm.reject(id, CmRejectReason::kConsumer, {}, {}, bench.now));
  bench.expect_sent<CmRej>();
  bench.receive(CmRtu{kPeerId, id, {}});
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kConsumer);
  bench.expect_quiet();
}

TEST(CmPassive, TheSameIdOfAnotherAddressIsAnotherRequest) {
  Bench bench;
  const CommId first = bench.be_asked();
  bench.receive_from(gid_of(3), peer_request());
  EXPECT_NE(bench.expect_event(Kind::kRequest).id, first);
  EXPECT_EQ(bench.cm.size(), 2u);
}

TEST(CmPassive, RejectsARequest) {
  Bench bench;
  const CommId id = bench.be_asked();
  const std::vector<uint8_t> info{1, 2};
  const std::vector<uint8_t> data{3};
  ASSERT_TRUE(bench.cm.reject(id, CmRejectReason::kInvalidGid, info, data, bench.now));
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.rejected, CmAnswered::kReq);
  EXPECT_EQ(rej.local_comm_id, CommId{}) << "the peer has not seen our id";
  EXPECT_EQ(rej.remote_comm_id, kPeerId);
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidGid);
  EXPECT_EQ(rej.additional_info.size, 2);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
  EXPECT_EQ(bench.cm.accept(id, our_reply(), bench.now).error().value, EINVAL);
}

TEST(CmPassive, ThePeerMayTakeBackItsRequest) {
  Bench bench;
  const CommId id = bench.be_asked();
  CmRej rej;
  rej.local_comm_id = kPeerId;
  rej.rejected = CmAnswered::kOther;
  rej.reason = CmRejectReason::kTimeout;
  std::array<uint8_t, 8> guid{0x02, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x02};
  rej.additional_info.assign(guid);
  bench.receive_from(gid_of(9), rej);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kReqReceived) << "not the peer's word";
  bench.receive(rej);
  bench.expect_event(Kind::kRejected);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
}

TEST(CmPassive, DataBeforeTheConfirmationEstablishes) {
  Bench bench;
  const CommId id = bench.accept();
  bench.cm.first_request_received(Qpn{0x99}, bench.now);
  bench.expect_quiet();
  bench.cm.first_request_received(kOurQpn, bench.now);
  EXPECT_EQ(bench.expect_event(Kind::kEstablished).id, id);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.cm.first_request_received(kOurQpn, bench.now);
  bench.receive(CmRtu{kPeerId, id, {}});
  bench.expect_quiet();
}

TEST(CmPassive, TheConsumerMaySayThatDataHasCome) {
  Bench bench;
  const CommId id = bench.be_asked();
  EXPECT_EQ(bench.cm.communication_established(id, bench.now).error().value, EINVAL);
  ASSERT_TRUE(bench.cm.accept(id, our_reply(), bench.now));
  bench.expect_sent<CmRep>();
  EXPECT_TRUE(bench.cm.communication_established(id, bench.now));
  bench.expect_event(Kind::kEstablished);
  EXPECT_TRUE(bench.cm.communication_established(id, bench.now));
  bench.expect_quiet();
}

TEST(CmPassive, WaitsAsLongAsThePeerAsks) {
  Bench bench;
  const CommId id = bench.accept();
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.answered = CmAnswered::kRep;
  mra.service_timeout = 24;
  bench.receive(mra);
  bench.expect_event(Kind::kMra);
  EXPECT_EQ(bench.cm.state(id), CmState::kMraRepReceived);
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(24) + iba_time(kLifetime));
  bench.receive(CmRtu{kPeerId, id, {}});
  bench.expect_event(Kind::kEstablished);
}

TEST(CmPassive, NobodyCanMakeItWaitForHours) {
  Bench bench;
  bench.listen();
  CmReq req = peer_request();
  req.local_cm_response_timeout = 31;
  req.primary.ack_timeout = 31;
  bench.receive(req);
  const CommId id = bench.expect_event(Kind::kRequest).id;
  ASSERT_TRUE(bench.cm.accept(id, our_reply(), bench.now));
  EXPECT_LE(*bench.cm.next_deadline(), bench.now + seconds(600));
}

TEST(CmPassive, ARequestBeyondTheIdsIsRefusedAndCounted) {
  CmConfig config = Bench::default_config();
  config.max_ids = 1;
  Bench bench(config);
  bench.be_asked();
  CmReq req = peer_request();
  req.local_comm_id = CommId{0x7000'0002};
  req.local_qpn = Qpn{0x23};
  bench.receive(req);
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kNoResources);
  EXPECT_EQ(bench.count_of(MadDropReason::kNoRoom), 1u);
  bench.expect_quiet();
}

TEST(CmPassive, ACarriedTransportIsHandedOnAsItIs) {
  Bench bench;
  bench.listen();
  CmReq req = peer_request();
  req.transport = CmTransport::kExtended;
  req.extended_transport = 1;
  bench.receive(req);
  const CmEvent event = bench.expect_event(Kind::kRequest);
  EXPECT_EQ(std::get<CmReq>(event.body).transport, CmTransport::kExtended);
  EXPECT_EQ(std::get<CmReq>(event.body).extended_transport, 1);
}

TEST(CmPassive, TheTargetQueuePairOfXrcIsInTheFieldOfTheEeContext) {
  Bench bench;
  bench.listen();
  CmReq req = peer_request();
  req.transport = CmTransport::kExtended;
  req.extended_transport = 1;
  bench.receive(req);
  const CommId id = bench.expect_event(Kind::kRequest).id;
  ASSERT_TRUE(bench.cm.accept(id, our_reply(), bench.now));
  const auto rep = bench.expect_sent<CmRep>();
  EXPECT_EQ(rep.local_eecn, kOurQpn);
  EXPECT_EQ(rep.local_qpn, Qpn{});
  bench.cm.first_request_received(kOurQpn, bench.now);
  bench.expect_event(Kind::kEstablished);
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_event(Kind::kDisconnectRequest);
}

// Expect: one of a connection that has ended draws nothing; its response is no rejection.
TEST(CmPassive, AConfirmationOfAnEndedConnectionDrawsNoAnswer) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_event(Kind::kDisconnectRequest);
  ASSERT_TRUE(bench.cm.answer_disconnect(id, {}, bench.now));
  bench.expect_sent<CmDrep>();
  bench.advance(milliseconds(150));
  CmRtu rtu;
  rtu.local_comm_id = kPeerId;
  rtu.remote_comm_id = id;
  bench.receive(rtu);
  bench.expect_quiet();
}

}  // namespace
}  // namespace urxe::test
