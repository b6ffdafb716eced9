// SPDX-License-Identifier: BSD-2-Clause
// LAP and APR (IBTA vol. 1, 12.8).
#include <cerrno>

#include "tests/transport/cm/bench.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

CmLap our_lap() {
  CmLap lap;
  lap.remote_cm_response_timeout = kResponse;
  lap.alternate.local = gid_of(11);
  lap.alternate.remote = gid_of(12);
  return lap;
}
CmLap peer_lap(CommId ours) {
  CmLap lap = our_lap();
  lap.local_comm_id = kPeerId;
  lap.remote_comm_id = ours;
  lap.remote_qpn = kOurQpn;
  return lap;
}
CmApr peer_apr(CommId ours) {
  CmApr apr;
  apr.local_comm_id = kPeerId;
  apr.remote_comm_id = ours;
  return apr;
}

TEST(CmAlternate, AsksAndIsAnswered) {
  Bench bench;
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.load_alternate_path(id, our_lap(), bench.now));
  const auto lap = bench.expect_sent<CmLap>();
  EXPECT_EQ(lap.local_comm_id, id);
  EXPECT_EQ(lap.remote_comm_id, kPeerId);
  EXPECT_EQ(lap.remote_qpn, kPeerQpn);
  EXPECT_EQ(bench.cm.load_alternate_path(id, our_lap(), bench.now).error().value, EINVAL);
  bench.receive(peer_apr(id), bench.transaction_id);
  EXPECT_EQ(std::get<CmApr>(bench.expect_event(Kind::kAlternateAnswer).body).status,
            CmAprStatus::kSuccess);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.receive(peer_apr(id));
  bench.expect_quiet();
  EXPECT_EQ(bench.duplicates(CmAttribute::kApr), 1u);
  EXPECT_TRUE(bench.cm.load_alternate_path(id, our_lap(), bench.now)) << "another one";
}

TEST(CmAlternate, AsksAgainThenGivesUpAndStaysEstablished) {
  Bench bench;
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.load_alternate_path(id, our_lap(), bench.now));
  bench.expect_sent<CmLap>();
  for (unsigned retry = 0; retry < kRetries; ++retry) {
    bench.advance(response_timeout());
    bench.expect_sent<CmLap>();
    bench.expect_quiet();
  }
  bench.advance(response_timeout());
  bench.expect_event(Kind::kAlternateTimeout);
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.state(id), CmState::kEstablished);
  EXPECT_FALSE(bench.cm.next_deadline());
}

TEST(CmAlternate, WaitsAsLongAsThePeerAsks) {
  Bench bench;
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.load_alternate_path(id, our_lap(), bench.now));
  bench.expect_sent<CmLap>();
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.answered = CmAnswered::kOther;
  mra.service_timeout = 24;
  bench.receive(mra);
  bench.expect_event(Kind::kMra);
  EXPECT_EQ(*bench.cm.next_deadline(), bench.now + iba_time(24) + iba_time(kLifetime));
}

TEST(CmAlternate, AnswersThePeerAndADuplicateOfItTheSame) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(peer_lap(id), 0x111);
  EXPECT_EQ(std::get<CmLap>(bench.expect_event(Kind::kAlternatePath).body).alternate.local,
            gid_of(11));
  CmApr apr;
  apr.status = CmAprStatus::kReject;
  ASSERT_TRUE(bench.cm.answer_alternate_path(id, apr, bench.now));
  EXPECT_EQ(bench.expect_sent<CmApr>().status, CmAprStatus::kReject);
  EXPECT_EQ(bench.transaction_id, 0x111u);
  bench.receive(peer_lap(id), 0x111);
  EXPECT_EQ(bench.expect_sent<CmApr>().status, CmAprStatus::kReject);
  bench.expect_no_event();
  EXPECT_EQ(bench.duplicates(CmAttribute::kLap), 1u);
  bench.receive(peer_lap(id), 0x112);
  bench.expect_event(Kind::kAlternatePath);
}

TEST(CmAlternate, AsksForTimeWhereTheConsumerIsSlow) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(peer_lap(id), 0x111);
  bench.expect_event(Kind::kAlternatePath);
  for (int again = 0; again < 2; ++again) {
    bench.receive(peer_lap(id), 0x111);
    EXPECT_EQ(bench.expect_sent<CmMra>().answered, CmAnswered::kOther);
    EXPECT_EQ(bench.transaction_id, 0x111u);
    bench.receive(peer_lap(id), 0x111);
    bench.expect_quiet();  // answered just now
    bench.advance(milliseconds(100));
  }
  ASSERT_TRUE(bench.cm.delay(id, 20, {}, bench.now));
  EXPECT_EQ(bench.expect_sent<CmMra>().service_timeout, 20);
  EXPECT_TRUE(bench.cm.answer_alternate_path(id, {}, bench.now));
  bench.expect_sent<CmApr>();
}

TEST(CmAlternate, BelongsToTheActiveEnd) {
  Bench bench;
  const CommId passive = bench.accept_established();
  EXPECT_EQ(bench.cm.load_alternate_path(passive, our_lap(), bench.now).error().value, EINVAL);
  Bench other;
  const CommId active = other.connect_established();
  other.receive(peer_lap(active));
  other.expect_quiet();
  EXPECT_EQ(other.count_of(MadDropReason::kWrongState), 1u);
}

TEST(CmAlternate, ForAnUnknownIdOrQueuePairIsRefused) {
  Bench bench;
  const CommId id = bench.accept_established();
  bench.receive(peer_lap(CommId{99}));
  EXPECT_EQ(bench.expect_sent<CmApr>().status, CmAprStatus::kInvalidCommId);
  CmLap lap = peer_lap(id);
  lap.remote_qpn = Qpn{0x99};
  bench.receive(lap);
  EXPECT_EQ(bench.expect_sent<CmApr>().status, CmAprStatus::kInvalidQpn);
  bench.expect_quiet();
}

TEST(CmAlternate, ADisconnectEndsIt) {
  Bench bench;
  const CommId id = bench.connect_established();
  ASSERT_TRUE(bench.cm.load_alternate_path(id, our_lap(), bench.now));
  bench.expect_sent<CmLap>();
  bench.receive(CmDreq{kPeerId, id, kOurQpn, {}});
  bench.expect_event(Kind::kDisconnectRequest);
  EXPECT_FALSE(bench.cm.next_deadline());
  bench.receive(peer_apr(id));
  bench.expect_quiet();
  EXPECT_EQ(bench.cm.answer_alternate_path(id, {}, bench.now).error().value, EINVAL);
}

}  // namespace
}  // namespace urxe::test
