// SPDX-License-Identifier: BSD-2-Clause
// The end that asks for a connection (IBTA vol. 1, 12.9.5).
#include <cerrno>

#include "tests/transport/cm/bench.h"
#include "transport/cm/cm_core.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmActive, SendsTheRequestWithItsOwnIdAndGuid) {
  Bench bench;
  const auto id = bench.cm.connect(request_template(), flow_between(bench.ours, bench.peer),
                                   kLifetime, bench.now);
  ASSERT_TRUE(id);
  const auto req = bench.expect_sent<CmReq>();
  EXPECT_EQ(req.local_comm_id, *id);
  EXPECT_EQ(req.local_ca_guid, kOurGuid);
  EXPECT_EQ(req.service_id, kService);
  EXPECT_EQ(id->value() >> kCommIdIndexBits, 5u);
  EXPECT_EQ(bench.last_flow.destination, bench.peer);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(*id), CmState::kReqSent);
}

TEST(CmActive, EstablishesWithReplyAndConfirmation) {
  Bench bench;
  const CommId id = bench.connect();
  const uint64_t transaction = bench.transaction_id;
  CmRep rep = peer_reply(id);
  rep.private_data.assign(std::vector<uint8_t>{1, 2, 3});
  bench.receive(rep, transaction);
  const CmEvent event = bench.expect_event(Kind::kReply);
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(event.flow.source, bench.peer);
  EXPECT_EQ(std::get<CmRep>(event.body).local_qpn, kPeerQpn);
  EXPECT_EQ(std::get<CmRep>(event.body).private_data.bytes[2], 3);
  const std::vector<uint8_t> data{7};
  ASSERT_TRUE(bench.cm.confirm(id, data, bench.now));
  const auto rtu = bench.expect_sent<CmRtu>();
  EXPECT_EQ(bench.transaction_id, transaction) << "the transaction of the REQ";
  EXPECT_EQ(rtu.local_comm_id, id);
  EXPECT_EQ(rtu.remote_comm_id, kPeerId);
  EXPECT_EQ(rtu.private_data.bytes[0], 7);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.expect_quiet();
}

TEST(CmActive, RepeatsTheRequestUntilTheRetriesAreUsedUp) {
  Bench bench;
  const CommId id = bench.connect();
  const uint64_t transaction = bench.transaction_id;
  for (unsigned retry = 0; retry < kRetries; ++retry) {
    bench.advance(response_timeout() - nanoseconds(1));
    bench.expect_quiet();
    bench.advance(nanoseconds(1));
    EXPECT_EQ(bench.expect_sent<CmReq>().local_comm_id, id);
    EXPECT_EQ(bench.transaction_id, transaction);
    bench.expect_quiet();
  }
  bench.advance(response_timeout());
  EXPECT_EQ(bench.expect_event(Kind::kRequestTimeout).id, id);
  EXPECT_EQ(bench.retries(CmAttribute::kReq), kRetries);
  EXPECT_EQ(bench.cm.counters().sent[index_of(CmAttribute::kReq)], 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmActive, TellsThePeerThatItsTimeIsOver) {
  Bench bench;
  const CommId id = bench.connect();
  while (bench.advance_to_deadline()) {
  }
  for (unsigned retry = 0; retry < kRetries; ++retry) bench.expect_sent<CmReq>();
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kTimeout);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.remote_comm_id, CommId{});
  EXPECT_EQ(rej.additional_info.size, 8);
  EXPECT_EQ(rej.additional_info.bytes[7], 1) << "our channel adapter's GUID";
}

TEST(CmActive, WaitsAsLongAsThePeerAsks) {
  Bench bench;
  const CommId id = bench.connect();
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.service_timeout = 23;
  bench.receive(mra, bench.transaction_id);
  EXPECT_EQ(std::get<CmMra>(bench.expect_event(Kind::kMra).body).service_timeout, 23);
  EXPECT_EQ(bench.cm.state(id), CmState::kMraReqReceived);
  bench.advance(iba_time(23) + iba_time(kLifetime) - nanoseconds(1));
  bench.expect_quiet();
  bench.advance(nanoseconds(1));
  bench.expect_sent<CmReq>();
  bench.receive(peer_reply(id));
  bench.expect_event(Kind::kReply);
}

TEST(CmActive, AnMraThatIsRepeatedExtendsTheTimeOnlyAfterAnotherRetry) {
  Bench bench;
  const CommId id = bench.connect();
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.service_timeout = 21;
  bench.receive(mra);
  bench.expect_event(Kind::kMra);
  const Instant deadline = *bench.cm.next_deadline();
  bench.advance(seconds(1));
  bench.receive(mra);
  bench.expect_quiet();
  EXPECT_EQ(*bench.cm.next_deadline(), deadline);
  EXPECT_EQ(bench.duplicates(CmAttribute::kMra), 1u);
  bench.advance_to_deadline();
  bench.expect_sent<CmReq>();
  bench.receive(mra);
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(21) + iba_time(kLifetime));
}

/// How long a peer is waited for that answers each REQ with an MRA, and nothing else ever.
Duration patience_with(uint8_t service_timeout, uint8_t retries) {
  Bench bench;
  CmReq req = request_template();
  req.max_cm_retries = retries;
  const auto id = bench.cm.connect(req, flow_between(bench.ours, bench.peer), kLifetime, bench.now);
  const Instant begun = bench.now;
  uint32_t times = 0;
  while (bench.cm.state(*id) != CmState::kIdle) {
    bench.expect_sent<CmReq>();
    ++times;
    CmMra mra;
    mra.local_comm_id = kPeerId;
    mra.remote_comm_id = *id;
    mra.service_timeout = service_timeout;
    bench.receive(mra);
    EXPECT_TRUE(bench.advance_to_deadline());
  }
  EXPECT_EQ(times, 1u + retries);
  bench.expect_event(Kind::kMra);
  bench.expect_event(Kind::kRequestTimeout);
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kTimeout);
  return bench.now - begun;
}

TEST(CmActive, APeerThatOnlyAsksForTimeIsGivenUpInBoundedTime) {
  const Duration granted = iba_time(kMaxPeerTimeout);
  for (const uint8_t retries : {uint8_t{0}, uint8_t{1}, uint8_t{3}, uint8_t{15}}) {
    for (uint8_t service_timeout = 0; service_timeout < 32; ++service_timeout) {
      const Duration waited = patience_with(service_timeout, retries);
      EXPECT_LE(waited, granted + response_timeout() * (1 + retries))
          << static_cast<int>(service_timeout) << ", retries " << static_cast<int>(retries);
    }
  }
  // An hour or a minute at a time: it gets what may be granted.
  EXPECT_GE(patience_with(31, 15), granted);
  EXPECT_GE(patience_with(24, 15), granted);
}

TEST(CmActive, AnswersADuplicateReplyWithTheSameConfirmation) {
  Bench bench;
  const CommId id = bench.connect_and_reply();
  const std::vector<uint8_t> data{9, 8};
  ASSERT_TRUE(bench.cm.confirm(id, data, bench.now));
  const auto first = bench.expect_sent<CmRtu>();
  bench.receive(peer_reply(id));
  EXPECT_EQ(bench.expect_sent<CmRtu>().private_data.bytes, first.private_data.bytes);
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kRep), 1u);
  EXPECT_EQ(bench.received(CmAttribute::kRep), 1u);
  EXPECT_EQ(bench.retries(CmAttribute::kRtu), 1u);
}

TEST(CmActive, AsksForTimeWhenTheConsumerIsSlowToConfirm) {
  Bench bench;
  const CommId id = bench.connect_and_reply();
  bench.receive(peer_reply(id));
  bench.expect_quiet();  // the time that we have asked for is not over
  bench.advance(iba_time(kResponse));
  for (int again = 0; again < 2; ++again) {
    bench.receive(peer_reply(id));
    const auto mra = bench.expect_sent<CmMra>();
    EXPECT_EQ(mra.answered, CmAnswered::kRep);
    EXPECT_EQ(mra.local_comm_id, id);
    EXPECT_EQ(mra.remote_comm_id, kPeerId);
    bench.receive(peer_reply(id));
    bench.expect_quiet();  // answered just now
    bench.advance(milliseconds(100));
  }
  EXPECT_EQ(bench.cm.state(id), CmState::kMraRepSent);
  EXPECT_TRUE(bench.cm.confirm(id, {}, bench.now));
  bench.expect_sent<CmRtu>();
}

TEST(CmActive, RejectsAReplyToNobody) {
  Bench bench;
  bench.receive(peer_reply(CommId{99}));
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidCommId);
  EXPECT_EQ(rej.rejected, CmAnswered::kRep);
  EXPECT_EQ(rej.remote_comm_id, kPeerId);
  EXPECT_EQ(rej.local_comm_id, CommId{99});
  bench.expect_quiet();
}

// Who shares the peer's address may try all ids, but has not seen the REQ. Expect: what answers it
// has to have its transaction id.
TEST(CmActive, AnAnswerWithoutTheTransactionChangesNothing) {
  Bench bench;
  const CommId id = bench.connect();
  const uint64_t other = bench.transaction_id + 1;
  CmRej rej;
  rej.remote_comm_id = id;
  rej.reason = CmRejectReason::kConsumer;
  for (const CmBody& forged : {CmBody(peer_reply(id)), CmBody(rej),
                               CmBody(CmMra{kPeerId, id, CmAnswered::kReq, 20, {}})}) {
    bench.receive(forged, other);
    bench.expect_quiet();
  }
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 3u);
  EXPECT_EQ(bench.cm.state(id), CmState::kReqSent);
  bench.receive(peer_reply(id));
  bench.expect_event(Kind::kReply);
}

TEST(CmActive, AReplyFromAnotherAddressChangesNothing) {
  Bench bench;
  const CommId id = bench.connect();
  bench.receive_from(gid_of(66), peer_reply(id));
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kReqSent);
}

TEST(CmActive, RejectsAReplyAndIsIdle) {
  Bench bench;
  const CommId id = bench.connect_and_reply();
  const std::vector<uint8_t> data{5};
  ASSERT_TRUE(bench.cm.reject(id, CmRejectReason::kConsumer, {}, data, bench.now));
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.rejected, CmAnswered::kRep);
  EXPECT_EQ(rej.local_comm_id, id);
  EXPECT_EQ(rej.remote_comm_id, kPeerId);
  EXPECT_EQ(rej.private_data.bytes[0], 5);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
}

TEST(CmActive, LearnsThatItWasRejected) {
  Bench bench;
  const CommId id = bench.connect();
  CmRej rej;
  rej.remote_comm_id = id;
  rej.reason = CmRejectReason::kConsumer;
  bench.receive(rej, bench.transaction_id);
  EXPECT_EQ(std::get<CmRej>(bench.expect_event(Kind::kRejected).body).reason,
            CmRejectReason::kConsumer);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.expect_quiet();
}

TEST(CmActive, ARejectionAsStaleLeadsThroughTimeWait) {
  Bench bench;
  const CommId id = bench.connect();
  CmRej rej;
  rej.remote_comm_id = id;
  rej.reason = CmRejectReason::kStaleConnection;
  bench.receive(rej);
  bench.expect_event(Kind::kRejected);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.advance_to_deadline();
  bench.expect_event(Kind::kTimeWaitExit);
  EXPECT_EQ(bench.cm.state(id), CmState::kIdle);
}

TEST(CmActive, ThePassiveEndMayTakeBackItsReply) {
  // The peer has got no RTU in time, and says so by its channel adapter and its id.
  Bench bench;
  const CommId id = bench.connect_established();
  CmRej rej;
  rej.local_comm_id = kPeerId;
  rej.remote_comm_id = CommId{};
  rej.rejected = CmAnswered::kOther;
  rej.reason = CmRejectReason::kTimeout;
  std::array<uint8_t, 8> guid{0x02, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x02};
  rej.additional_info.assign(guid);
  bench.receive(rej);
  bench.expect_event(Kind::kRejected);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
}

TEST(CmActive, VerbsOfAnotherStateAreInvalid) {
  Bench bench;
  const CommId id = bench.connect();
  EXPECT_EQ(bench.cm.confirm(id, {}, bench.now).error().value, EINVAL);
  EXPECT_EQ(bench.cm.accept(id, {}, bench.now).error().value, EINVAL);
  EXPECT_EQ(bench.cm.disconnect(id, {}, bench.now).error().value, EINVAL);
  EXPECT_EQ(bench.cm.confirm(CommId{1}, {}, bench.now).error().value, EINVAL);
  bench.expect_quiet();
}

TEST(CmActive, HasNoMoreIdsThanItMay) {
  CmConfig config = Bench::default_config();
  config.max_ids = 2;
  Bench bench(config);
  bench.connect();
  const CommId second = bench.connect();
  const Flow flow = flow_between(bench.ours, bench.peer);
  const auto third = bench.cm.connect(request_template(), flow, kLifetime, bench.now);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().value, ENOMEM);
  bench.cm.destroy(second, bench.now);
  EXPECT_TRUE(bench.cm.connect(request_template(), flow, kLifetime, bench.now));
}

// Expect: who replies to a request that has its reply already is told that the id is not theirs.
TEST(CmActive, AReplyOfAnotherCommunicationIsRejected) {
  Bench bench;
  const CommId id = bench.connect_and_reply();
  const uint64_t transaction = bench.transaction_id;
  CmRep other = peer_reply(id);
  other.local_comm_id = CommId{0x7000'0077};
  bench.receive(other, transaction);
  const auto rej = bench.expect_sent<CmRej>();
  EXPECT_EQ(rej.reason, CmRejectReason::kInvalidCommId);
  EXPECT_EQ(rej.remote_comm_id, other.local_comm_id);
  EXPECT_EQ(rej.rejected, CmAnswered::kRep);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kRepReceived);
}

// Expect: the answer goes back along the way of the message, but says nothing of congestion there.
TEST(CmFlow, ACongestionMarkIsNotReflected) {
  Flow flow = flow_between(gid_of(1), gid_of(2));
  flow.traffic_class = 0x63;
  const Flow answer = reversed(flow);
  EXPECT_EQ(answer.source, flow.destination);
  EXPECT_EQ(answer.destination, flow.source);
  EXPECT_EQ(answer.traffic_class, 0x60);
}

}  // namespace
}  // namespace urxe::test
