// SPDX-License-Identifier: BSD-2-Clause
// Peers that have vanished without a DREQ: what is asked, what is answered, what is made of it.
#include "transport/cm/timers/probe.h"

#include "tests/transport/cm/bench.h"
#include "tests/transport/cm/timers/probing.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

TEST(CmProbe, IsOffUnlessAskedFor) {
  Bench bench;
  bench.connect_established();
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmProbe, AsksForAQueuePairThatCannotBe) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.advance_to_deadline());
  const auto dreq = bench.expect_sent<CmDreq>();
  EXPECT_EQ(dreq.local_comm_id, id);
  EXPECT_EQ(dreq.remote_comm_id, kPeerId);
  EXPECT_EQ(dreq.remote_qpn, kProbeQpn);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, IsRepeatedAfterTheIntervalWhereItIsAnswered) {
  Bench bench(probing());
  const CommId id = bench.accept_established();
  for (int i = 0; i < 3; ++i) {
    const Instant asked = ask(bench);
    bench.advance(milliseconds(10));
    answer(bench, id);
    EXPECT_EQ(*bench.cm.next_deadline(), asked + kInterval);
  }
  EXPECT_EQ(bench.received(CmAttribute::kMra), 3u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, AnEndThatIsThereAnswersAndStaysAsItIs) {
  Bench bench;
  const CommId id = bench.connect_established();
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}}, 77);
  const auto mra = bench.expect_sent<CmMra>();
  EXPECT_EQ(bench.transaction_id, 77u);
  EXPECT_EQ(mra.local_comm_id, id);
  EXPECT_EQ(mra.remote_comm_id, kPeerId);
  EXPECT_EQ(mra.answered, CmAnswered::kOther);
  EXPECT_EQ(mra.service_timeout, 0u);
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kDreq), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  // The RTU, not the answer, is what a REP that comes again gets again.
  bench.receive(peer_reply(id));
  bench.expect_sent<CmRtu>();
}

/// Strangers ask after connections that do not exist, as fast as they can. Expect: the answer to
/// the peer has no part in what they get.
TEST(CmProbe, AnEndThatIsThereAnswersBesideAFlood) {
  Bench bench;
  const CommId id = bench.connect_established();
  for (uint32_t i = 0; i < 10000; ++i)
    bench.receive(CmDreq{CommId{i}, CommId{i}, kProbeQpn, {}}, i);
  while (bench.sent()) {
  }
  ASSERT_GT(bench.count_of(MadDropReason::kOverQuota), 0U);
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}}, 77);
  EXPECT_EQ(bench.expect_sent<CmMra>().local_comm_id, id);
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}}, 77);
  bench.expect_quiet();
}

TEST(CmProbe, AnEndWhoseRtuIsLostAnswers) {
  Bench bench;
  const CommId id = bench.accept();
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}});
  bench.expect_sent<CmMra>();
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kRepSent);
}

TEST(CmProbe, AnEndThatIsGoneOrInTimeWaitSaysSo) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, CommId{99}, kProbeQpn, {}}, 5);
  bench.expect_sent<CmDrep>();
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDreq>();
  bench.receive(CmDrep{kPeerId, id, {}});
  bench.expect_event(Kind::kDisconnected);
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}}, 6);
  bench.expect_sent<CmDrep>();
  EXPECT_EQ(bench.transaction_id, 6u);
}

TEST(CmProbe, AStrangersQuestionIsNotAnswered) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive_from(gid_of(9), CmDreq{kPeerId, id, kProbeQpn, {}});
  bench.expect_quiet();
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), 1u);
}

TEST(CmProbe, ADrepSaysThatThePeerIsGone) {
  Bench bench(probing());
  const CommId id = bench.accept_established();
  ask(bench);
  bench.receive(CmDrep{kPeerId, id, {}}, bench.transaction_id + 1);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished) << "not an answer to the probe";
  bench.receive(CmDrep{kPeerId, id, {}}, bench.transaction_id);
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).id, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.advance_to_deadline();
  bench.expect_event(Kind::kTimeWaitExit);
  bench.expect_quiet();
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmProbe, AnAnswerMayTakeLongerThanTheInterval) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  ask(bench);
  const uint64_t first = bench.transaction_id;
  ask(bench);
  bench.receive(CmDrep{kPeerId, id, {}}, first);
  bench.expect_event(Kind::kPeerGone);
}

TEST(CmProbe, SilenceIsAskedMoreOftenAndEndsTheConnection) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  const Instant first = ask(bench);
  for (uint32_t i = 1; i < kLimit; ++i) {
    EXPECT_EQ(ask(bench), first + kAgain * i);
    bench.expect_quiet();
    ASSERT_EQ(bench.cm.state(id), CmState::kEstablished) << i;
  }
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.now, first + kAgain * kLimit);
  EXPECT_EQ(bench.expect_event(Kind::kPeerSilent).id, id);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.advance_to_deadline();
  bench.expect_event(Kind::kTimeWaitExit);
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmProbe, AnyAnswerEndsTheSilence) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  for (int round = 0; round < 5; ++round) {
    for (uint32_t i = 0; i < kLimit; ++i) ask(bench);
    answer(bench, id);
    EXPECT_EQ(*bench.cm.next_deadline(), bench.now + kInterval);
  }
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, WhatAnswersNoProbeEndsNoSilence) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  for (uint32_t i = 0; i < kLimit; ++i) {
    ask(bench);
    const uint64_t asked = bench.transaction_id;
    bench.receive(CmMra{kPeerId, id, CmAnswered::kOther, 0, {}}, asked + 1);
    bench.receive(CmMra{CommId{5}, id, CmAnswered::kOther, 0, {}}, asked);
    bench.receive_from(gid_of(9), CmMra{kPeerId, id, CmAnswered::kOther, 0, {}}, asked);
  }
  ASSERT_TRUE(bench.advance_to_deadline());
  bench.expect_event(Kind::kPeerSilent);
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongState), kLimit);
  EXPECT_EQ(bench.count_of(MadDropReason::kUnknownId), kLimit);
  EXPECT_EQ(bench.count_of(MadDropReason::kWrongPeer), kLimit);
}

TEST(CmProbe, AProcessThatWasStoppedItselfTakesNobodyForGone) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  for (uint32_t stops = 1; stops < kLimit; ++stops) {
    bench.advance(seconds(3600));
    bench.expect_sent<CmDreq>();
    bench.expect_quiet();
  }
  answer(bench, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, ItsAnswerIsToldFromThatToALap) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  CmLap lap;
  lap.remote_cm_response_timeout = kResponse;
  ASSERT_TRUE(bench.cm.load_alternate_path(id, lap, bench.now));
  bench.expect_sent<CmLap>();
  const uint64_t lap_transaction = bench.transaction_id;
  while (!next_is_probe(bench)) {
  }
  answer(bench, id);
  bench.expect_quiet();
  bench.receive(CmMra{kPeerId, id, CmAnswered::kOther, 20, {}}, lap_transaction);
  bench.expect_event(Kind::kMra);
  CmApr apr;
  apr.local_comm_id = kPeerId;
  apr.remote_comm_id = id;
  bench.receive(apr, lap_transaction);
  bench.expect_event(Kind::kAlternateAnswer);
  ask(bench);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, ALateAnswerHasNoEffect) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  ask(bench);
  const uint64_t asked = bench.transaction_id;
  ASSERT_TRUE(bench.cm.disconnect(id, {}, bench.now));
  bench.expect_sent<CmDreq>();
  answer(bench, id, asked);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kDreqSent);
  EXPECT_EQ(bench.duplicates(CmAttribute::kMra), 1u);
}

TEST(CmProbe, OnlyPeersThatKnowTheQuestionAreAsked) {
  CmConfig config = probing();
  config.probe_guid_value ^= 0x100;
  Bench bench(config);
  bench.connect_established();
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmProbe, ATargetOfXrcIsNot) {
  Bench bench(probing());
  bench.listen();
  CmReq req = peer_request();
  req.transport = CmTransport::kExtended;
  bench.receive(req);
  const CommId id = bench.expect_event(Kind::kRequest).id;
  CmRep rep;
  rep.local_qpn = kOurQpn;
  ASSERT_TRUE(bench.cm.accept(id, rep, bench.now));
  bench.expect_sent<CmRep>();
  bench.receive(CmRtu{kPeerId, id, {}});
  bench.expect_event(Kind::kEstablished);
  EXPECT_FALSE(bench.cm.next_deadline());
}

}  // namespace
}  // namespace urxe::test
