// SPDX-License-Identifier: BSD-2-Clause
// How many answers messages draw: of each kind at most one in an interval, whatever they say.
#include <cstring>

#include "tests/transport/cm/bench.h"
#include "transport/cm/requests/answer_budget.h"

namespace urxe::test {
namespace {

using Kind = CmEvent::Kind;

constexpr Duration kAnswerInterval = milliseconds(100);

/// A request that leaves no time for an answer, so that retries would follow each other at once.
CmReq hasty_request() {
  CmReq req = peer_request();
  req.local_cm_response_timeout = 0;
  req.remote_cm_response_timeout = 0;
  req.max_cm_retries = 15;
  req.primary.ack_timeout = 0;
  return req;
}

CommId accept_hasty(Bench& bench) {
  bench.listen();
  bench.receive(hasty_request());
  const CommId id = bench.expect_event(Kind::kRequest).id;
  CmRep rep;
  rep.local_qpn = kOurQpn;
  EXPECT_TRUE(bench.cm.accept(id, rep, bench.now));
  bench.expect_sent<CmRep>();
  return id;
}

size_t sent_by(Bench& bench) {
  size_t count = 0;
  while (bench.cm.take_outgoing() != nullptr) ++count;
  return count;
}

// Once: seventeen packets within a millisecond.
TEST(CmAnswers, OneRequestDrawsOneReplyAnInterval) {
  Bench bench;
  accept_hasty(bench);
  for (int retry = 0; retry < 15; ++retry) {
    bench.advance(kAnswerInterval - nanoseconds(1));
    bench.expect_quiet();
    bench.advance(nanoseconds(1));
    bench.expect_sent<CmRep>();
    bench.expect_quiet();
  }
}

TEST(CmAnswers, RepeatedRequestsDrawNoMoreReplies) {
  Bench bench;
  accept_hasty(bench);
  for (int i = 0; i < 1000; ++i) bench.receive(hasty_request());
  EXPECT_EQ(sent_by(bench), 1u);
}

TEST(CmAnswers, RepeatedRequestsDrawNoMoreMras) {
  Bench bench;
  bench.listen();
  bench.receive(hasty_request());
  bench.expect_event(Kind::kRequest);
  bench.advance(milliseconds(1));
  for (int i = 0; i < 1000; ++i) bench.receive(hasty_request());
  EXPECT_EQ(sent_by(bench), 1u);
}

TEST(CmAnswers, RepeatedRequestsDrawNoMoreRejections) {
  Bench bench;
  const CommId id = accept_hasty(bench);
  ASSERT_TRUE(bench.cm.reject(id, CmRejectReason::kConsumer, {}, {}, bench.now));
  bench.expect_sent<CmRej>();
  for (int i = 0; i < 1000; ++i) bench.receive(hasty_request());
  EXPECT_LE(sent_by(bench), 1u);
}

TEST(CmAnswers, AnMraThatAsksForNoTimeMakesNoHaste) {
  Bench bench;
  const CommId id = accept_hasty(bench);
  CmMra mra;
  mra.local_comm_id = kPeerId;
  mra.remote_comm_id = id;
  mra.answered = CmAnswered::kRep;
  bench.receive(mra);
  bench.expect_event(Kind::kMra);
  bench.advance(kAnswerInterval - nanoseconds(1));
  bench.expect_quiet();
}

// Once: each of two hundred copies drew a rejection. Expect: one an interval, whatever transaction
// the copies name; another request of the same source is rejected at once.
TEST(CmAnswers, CopiesOfOneRequestForNobodyDrawOneRejectionAnInterval) {
  Bench bench;
  for (uint64_t i = 0; i < 200; ++i) bench.receive(hasty_request(), kPeerTransaction + i);
  EXPECT_EQ(sent_by(bench), 1u);
  EXPECT_EQ(bench.received(CmAttribute::kReq), 1u);
  EXPECT_EQ(bench.duplicates(CmAttribute::kReq), 199u);
  CmReq other = hasty_request();
  other.local_comm_id = CommId{kPeerId.value() + 1};
  bench.receive(other);
  EXPECT_EQ(bench.expect_sent<CmRej>().remote_comm_id, other.local_comm_id);
  bench.receive_from(gid_of(77), hasty_request());
  EXPECT_EQ(sent_by(bench), 1u);
  bench.advance(kAnswerInterval - nanoseconds(1));
  bench.receive(hasty_request());
  EXPECT_EQ(sent_by(bench), 0u);
  bench.advance(nanoseconds(1));
  bench.receive(hasty_request());
  bench.receive(hasty_request());
  EXPECT_EQ(bench.expect_sent<CmRej>().reason, CmRejectReason::kInvalidServiceId);
  bench.expect_quiet();
}

TEST(CmAnswers, CopiesOfAnotherMessageForNobodyDrawOneAnswerAnInterval) {
  Bench bench;
  const CmDreq dreq{kPeerId, CommId{4711}, kOurQpn, {}};
  for (int i = 0; i < 200; ++i) bench.receive(dreq);
  bench.expect_sent<CmDrep>();
  bench.expect_quiet();
}

// Expect: rejections of what nobody listens for have a rate, of each source; others' go on.
TEST(CmAnswers, AFloodForNobodyIsAnsweredInPart) {
  Bench bench;
  for (uint32_t i = 0; i < 20000; ++i) {
    CmReq req = hasty_request();
    req.local_comm_id = CommId{0x4000'0000 + i};
    bench.receive(req);
    bench.advance(microseconds(50));
  }
  const size_t answers = sent_by(bench);
  EXPECT_LE(answers, 2000u + 513);
  EXPECT_EQ(bench.count_of(MadDropReason::kOverQuota), 20000 - answers);
  bench.receive_from(gid_of(77), hasty_request());
  EXPECT_EQ(sent_by(bench), 1u);
}

// Expect: some thousands at once, however many addresses ask; then some more as time goes on.
TEST(CmAnswers, AllAddressesTogetherHaveABound) {
  AnswerBudget budget({1, 2});
  const Instant now{1'000'000'000};
  const auto taken = [&budget](uint32_t sources, Instant when) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < sources; ++i) {
      uint8_t address[16] = {0xfd};
      std::memcpy(&address[2], &i, sizeof i);  // each of another network
      count += budget.take(Gid::from_ipv6(address), when) ? 1 : 0;
    }
    return count;
  };
  const uint32_t at_once = taken(100000, now);
  EXPECT_GT(at_once, 1000u);
  EXPECT_LT(at_once, 3000u);
  EXPECT_EQ(taken(100000, now), 0u);
  EXPECT_EQ(taken(100000, now + milliseconds(10)), 100u);
}

}  // namespace
}  // namespace urxe::test
