// SPDX-License-Identifier: BSD-2-Clause
// After a silence: was a packet lost, or is the peer slow? What the requester learns from the
// answer.
#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test::loss_or_slowness_test {
namespace {

constexpr Duration kRoundTrip = microseconds(20);

BenchOptions usual() {
  BenchOptions options;
  options.connect.timeout = 14;  // 67 ms
  return options;
}

/// A peer whose round trip is known.
struct Known : Bench {
  Known() : Bench(usual()) {
    post(IBV_WR_SEND, 0);
    sent();
    pass(kRoundTrip);
    receive_ack(kSqPsn);
  }
  /// Lets timers run out until so many packets were sent by them.
  void be_silent(int packets) {
    while (packets > 0) {
      now = device.next_deadline().value();
      packets -= static_cast<int>(sent().size());
    }
  }
  Duration time_to_probe() {
    sent();
    const Instant start = now;
    be_silent(1);
    return now - start;
  }
  void receive_response(Operation operation, uint32_t psn) {
    receive(operation, psn, {}, std::vector<uint8_t>(kMtu, 1));
  }
};

const std::string kRestOfRead = "READ Request psn 102 ack va 0x5400 rkey 0x77 dma 3072";

/// Its READ of four packets has the first response, and the third: the second is asked for again.
struct WithGap : Known {
  WithGap() {
    post(IBV_WR_RDMA_READ, 4 * kMtu);
    sent();
    pass(kRoundTrip);
    receive_response(Operation::kReadResponseFirst, 101);
    receive_response(Operation::kReadResponseMiddle, 103);
    EXPECT_EQ(sent(), (Lines{"GAP Query psn 1", kRestOfRead}));
  }
};

// The defect: the time until the answer to the third probe was taken for the round trip, and all
// timers were longer from then on. Expect: a silence is no round trip.
TEST(LossOrSlowness, LossIsNoSlowness) {
  for (const auto opcode : {IBV_WR_SEND, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    Known bench;
    const bool is_send = opcode == IBV_WR_SEND;
    bench.post(opcode, is_send ? 0 : 8);
    bench.sent();
    bench.be_silent(3);
    bench.pass(kRoundTrip);
    if (is_send) {
      bench.receive_ack(101);
    } else {
      bench.receive(Operation::kAtomicAcknowledge, 101);
    }
    EXPECT_EQ(bench.send_statuses().size(), 2U);
    EXPECT_EQ(bench.qp->path->round_trip(), kRoundTrip);
  }
}

// Expect: if the probes are answered as well, the first answer was to the packet itself.
TEST(LossOrSlowness, SecondAnswerShowsSlowness) {
  Known bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  const Instant start = bench.now;
  bench.be_silent(2);
  bench.receive_ack(101);
  const Duration sample = bench.now - start;
  EXPECT_EQ(bench.qp->path->round_trip(), kRoundTrip);
  bench.receive_ack(101);
  EXPECT_EQ(bench.qp->path->round_trip().ns, kRoundTrip.ns + (sample.ns - kRoundTrip.ns) / 8);
  bench.receive_ack(101);  // tells nothing more
  EXPECT_EQ(bench.qp->path->round_trip().ns, kRoundTrip.ns + (sample.ns - kRoundTrip.ns) / 8);
}

/// A stop of this process, while an answer is on its way.
constexpr Duration kStop = seconds(5);
/// What the timers may make of it.
constexpr Duration kStillShort = milliseconds(20);

// The defect: a stop was taken for a round trip. A peer that was gone then went unnoticed for
// minutes. Expect: the answer may have come before, whether it is read first or the timers are
// served first.
TEST(LossOrSlowness, AStopOfThisProcessIsNoSlowness) {
  for (const bool timers_first : {false, true}) {
    Known bench;
    bench.post(IBV_WR_SEND, 0);
    bench.sent();
    bench.pass(kStop);
    if (timers_first) bench.sent();
    bench.receive_ack(101);
    if (timers_first) bench.receive_ack(101);  // to the probe
    EXPECT_EQ(bench.send_statuses().size(), 2U);
    EXPECT_LE(bench.qp->path->round_trip_bound(), kStillShort) << timers_first;
    bench.post(IBV_WR_SEND, 0);
    bench.sent();
    bench.pass(milliseconds(3));
    bench.receive_ack(102);
    EXPECT_GT(bench.qp->path->round_trip(), kRoundTrip) << "the next sample counts in full";
  }
}

TEST(LossOrSlowness, OnACrowdedHostAWaitForAProcessorIsSlowness) {
  for (const bool timers_first : {false, true}) {
    Known bench;
    bench.device.set_host_is_crowded(true);
    bench.post(IBV_WR_SEND, 0);
    bench.sent();
    bench.pass(kStop);
    if (timers_first) bench.sent();
    bench.receive_ack(101);
    if (timers_first) bench.receive_ack(101);
    EXPECT_GT(bench.qp->path->round_trip_bound(), milliseconds(500)) << timers_first;
  }
}

// The peer was stopped for a minute, which its answers show as slowness. Then it is gone. Expect:
// that is noticed in a second for each try, not in a minute.
TEST(LossOrSlowness, AfterAStopOfThePeerItsEndIsStillNoticed) {
  Known bench;
  bench.qp->path->on_round_trip(seconds(60));
  ASSERT_GT(bench.qp->path->round_trip_bound(), seconds(20));
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  const Instant start = bench.now;
  while (bench.qp->state() == IBV_QPS_RTS) {
    bench.now = bench.device.next_deadline().value();
    bench.sent();
  }
  EXPECT_EQ(bench.send_statuses().back().second, IBV_WC_RETRY_EXC_ERR);
  EXPECT_LE(bench.now - start, seconds(1) * (usual().connect.retry_cnt + 1));
}

// Expect: an answer within a round trip of the probe is the probe's: something was lost. For a
// while the next silence is then a loss, too, and probed for much earlier.
TEST(LossOrSlowness, AfterALossProbesAreEarly) {
  Known bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.time_to_probe(), milliseconds(4));
  bench.pass(kRoundTrip);
  bench.receive_ack(101);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(102);  // the probe timer is no longer backed off
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.time_to_probe(), microseconds(300));
  bench.receive_ack(103);
  bench.pass(seconds(2));
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(104);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.time_to_probe(), milliseconds(4));
}

// Expect: an answer that comes later than that shows no loss.
TEST(LossOrSlowness, LateAnswerShowsNoLoss) {
  Known bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.time_to_probe(), milliseconds(4));
  bench.pass(milliseconds(1));
  bench.receive_ack(101);
  EXPECT_FALSE(bench.qp->path->is_lossy(bench.now));
}

// The first response to what was asked for again is lost, too. Expect: it is asked for once more
// when the one behind it comes a second time, at no retry.
TEST(LossOrSlowness, ResponsesThatBeginAnewWithAGapAreAskedForAgain) {
  WithGap bench;
  bench.receive_response(Operation::kReadResponseLast, 104);  // was on its way
  EXPECT_EQ(bench.sent(), Lines{});
  const uint32_t retries = bench.qp->requester.retries_left;
  bench.pass(kRoundTrip);
  bench.receive_response(Operation::kReadResponseMiddle, 103);
  EXPECT_EQ(bench.sent(), Lines{kRestOfRead});
  EXPECT_EQ(bench.qp->requester.retries_left, retries);
}

// Expect: duplicates of what was on its way are not asked about; and what seems to begin anew for
// ever is asked for some times only.
TEST(LossOrSlowness, DuplicateResponsesAreNoNewBeginning) {
  WithGap bench;
  bench.receive_response(Operation::kReadResponseMiddle, 103);
  EXPECT_EQ(bench.sent(), Lines{});
  int asked = 0;
  for (int i = 0; i < 12; ++i) {
    bench.pass(kRoundTrip);
    bench.receive_response(Operation::kReadResponseMiddle, 103);
    asked += static_cast<int>(bench.sent().size());
  }
  EXPECT_EQ(asked, 4);
}

/// Of its READ of four packets one response has come, and the next one, to the probe, so much
/// later. Returns what is sent then.
Lines answer_read_probe(bool is_lossy, Duration later) {
  Known bench;
  bench.post(IBV_WR_RDMA_READ, 4 * kMtu);
  bench.sent();
  bench.pass(kRoundTrip);
  bench.receive_response(Operation::kReadResponseFirst, 101);
  if (is_lossy) bench.qp->path->note_loss(bench.now);
  bench.be_silent(1);
  bench.pass(later);
  bench.receive_response(Operation::kReadResponseOnly, 102);
  return bench.sent();
}

// Expect: if the response to a probe comes at once, where packets are lost, the others are lost,
// too, and are asked for without a further silence.
TEST(LossOrSlowness, PromptResponseToAProbeShowsThatTheRestIsLost) {
  EXPECT_EQ(answer_read_probe(true, kRoundTrip),
            (Lines{"READ Request psn 103 ack va 0x5800 rkey 0x77 dma 2048"}));
}

// Expect: where nothing is known to be lost it may have been on its way, with the others behind it.
TEST(LossOrSlowness, WithoutALossAPromptResponseShowsNothing) {
  EXPECT_EQ(answer_read_probe(false, kRoundTrip), Lines{});
}

// Expect: a response that comes later may be followed by others that are on their way.
TEST(LossOrSlowness, LateResponseToAProbeShowsNothing) {
  EXPECT_EQ(answer_read_probe(true, milliseconds(1)), Lines{});
}

}  // namespace
}  // namespace urxe::test::loss_or_slowness_test
