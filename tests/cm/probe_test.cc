// SPDX-License-Identifier: BSD-2-Clause
// Peers that have vanished without a DREQ.
#include "tests/cm/bench.h"
#include "transport/cm/cm_core.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

CmConfig probing() {
  CmConfig config = Bench::default_config();
  config.probe_interval = seconds(10);
  config.probe_guid_mask = ~uint64_t{0xff};
  config.probe_guid_value = kPeerGuid & ~uint64_t{0xff};
  return config;
}

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
  // Silence is the good answer.
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + seconds(10));
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, AnAnswerSaysThatThePeerIsGone) {
  Bench bench(probing());
  const CommId id = bench.accept_established();
  bench.advance_to_deadline();
  bench.expect_sent<CmDreq>();
  bench.receive(CmDrep{kPeerId, id, {}}, bench.transaction_id + 1);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished) << "not an answer to the probe";
  bench.receive(CmDrep{kPeerId, id, {}}, bench.transaction_id);
  EXPECT_EQ(bench.expect_event(Kind::kPeerGone).id, id);
  EXPECT_EQ(bench.cm.state(id), CmState::kTimeWait);
  bench.advance_to_deadline();
  bench.expect_event(Kind::kTimeWaitExit);
  bench.expect_quiet();
}

TEST(CmProbe, AnAnswerMayTakeLongerThanTheInterval) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  bench.advance_to_deadline();
  bench.expect_sent<CmDreq>();
  const uint64_t first = bench.transaction_id;
  bench.advance_to_deadline();
  bench.expect_sent<CmDreq>();
  bench.receive(CmDrep{kPeerId, id, {}}, first);
  bench.expect_event(Kind::kPeerGone);
}

TEST(CmProbe, AnEndThatIsThereSaysNothing) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(CmDreq{kPeerId, id, kProbeQpn, {}});
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kDreq), 1u);
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
}

TEST(CmProbe, AnEndThatIsGoneOrInTimeWaitAnswers) {
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

TEST(CmProbe, OnlyPeersThatKnowTheQuestionAreAsked) {
  CmConfig config = probing();
  config.probe_guid_value ^= 0x100;
  Bench bench(config);
  bench.connect_established();
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmProbe, ManyConnectionsAreAskedInTurns) {
  CmConfig config = probing();
  config.probes_per_second = 10;
  Bench bench(config);
  constexpr uint32_t kConnections = 500;
  for (uint32_t i = 0; i < kConnections; ++i) {
    const CommId id = bench.connect();
    CmRep rep = peer_reply(id);
    rep.local_comm_id = CommId{0x7000'0000 + i};
    rep.local_qpn = Qpn{i + 2};
    bench.receive(rep);
    ASSERT_TRUE(bench.cm.confirm(id, {}, bench.now));
    bench.expect_sent<CmRtu>();
  }
  const Instant start = bench.now;
  uint64_t probes = 0;
  while (bench.now < start + seconds(200) && bench.advance_to_deadline()) {
    while (bench.cm.take_outgoing() != nullptr) ++probes;
    const auto seconds_gone = static_cast<uint64_t>((bench.now - start).ns / 1'000'000'000);
    ASSERT_LE(probes, 10 * (seconds_gone + 1) + 1);
  }
  EXPECT_GT(probes, 1500u) << "each is asked every 50 seconds";
}

TEST(CmProbe, GoesOnAfterAnAlternatePathWasLoaded) {
  Bench bench(probing());
  const CommId id = bench.connect_established();
  CmLap lap;
  lap.remote_cm_response_timeout = kResponse;
  ASSERT_TRUE(bench.cm.load_alternate_path(id, lap, bench.now));
  bench.expect_sent<CmLap>();
  CmApr apr;
  apr.local_comm_id = kPeerId;
  apr.remote_comm_id = id;
  bench.receive(apr);
  bench.expect_event(Kind::kAlternateAnswer);
  ASSERT_TRUE(bench.advance_to_deadline());
  EXPECT_EQ(bench.expect_sent<CmDreq>().remote_qpn, kProbeQpn);
}

}  // namespace
}  // namespace urxe::test
