// SPDX-License-Identifier: BSD-2-Clause
// A receiver that is not ready (IBTA vol. 1, 9.7.5.2.8).
#include <gtest/gtest.h>

#include <initializer_list>

#include "tests/transport/bench.h"

namespace urxe::test::rnr_test {
namespace {

const Lines kOneSend = {"SEND Only psn 100 ack len 0"};

// 9.7.5.2.8. Expect: the wait that the NAK's timer code names, then the same PSN again.
TEST(Rnr, NakWaitsByTheTable) {
  const struct {
    uint8_t code;
    int64_t microseconds;
  } cases[] = {{0, 655360}, {1, 10}, {2, 20}, {12, 640}, {20, 10240}, {31, 491520}};
  for (const auto& c : cases) {
    Bench bench;
    bench.post(IBV_WR_SEND, 0);
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(bench.sent().size(), 2U);
    bench.receive_ack(100, rnr_syndrome(c.code));
    EXPECT_EQ(bench.sent(), Lines{});
    bench.pass(microseconds(c.microseconds) - nanoseconds(1));
    EXPECT_EQ(bench.sent(), Lines{}) << int{c.code};
    bench.pass(nanoseconds(1));
    EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0", "SEND Only psn 101 ack len 0"}))
        << int{c.code};
  }
}

// 9.7.5.2.8. Expect: rnr_retry N: N waits, then RNR_RETRY_EXC_ERR.
TEST(Rnr, RetryCount) {
  for (const uint8_t retries : std::initializer_list<uint8_t>{0, 2, 6, 10}) {
    BenchOptions options;
    options.connect.rnr_retry = retries;
    Bench bench(options);
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(bench.sent(), kOneSend);
    for (int i = 0; i < retries; ++i) {
      bench.receive_ack(100, rnr_syndrome(1));
      bench.pass(microseconds(10));
      EXPECT_EQ(bench.sent(), kOneSend);
    }
    bench.receive_ack(100, rnr_syndrome(1));
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_RNR_RETRY_EXC_ERR}}));
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  }
}

// 9.7.5.2.8. Expect: rnr_retry 7 never gives up, and RNR does not use retry_cnt.
TEST(Rnr, RetrySevenIsForEver) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  for (int i = 0; i < 1000; ++i) {
    bench.receive_ack(100, rnr_syndrome(1));
    bench.pass(microseconds(10));
    ASSERT_EQ(bench.sent(), kOneSend) << i;
  }
}

// Expect: a second RNR NAK for the same packet, which was on its way twice, costs no retry.
TEST(Rnr, OneWaitAtATime) {
  BenchOptions options;
  options.connect.rnr_retry = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100, rnr_syndrome(1));
  bench.receive_ack(100, rnr_syndrome(1));
  bench.pass(microseconds(10));
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: each message has all RNR retries.
TEST(Rnr, ProgressRefillsRetries) {
  BenchOptions options;
  options.connect.rnr_retry = 1;
  Bench bench(options);
  for (uint32_t psn = 100; psn < 103; ++psn) {
    bench.post(IBV_WR_SEND, 0);
    EXPECT_EQ(bench.sent().size(), 1U);
    bench.receive_ack(psn, rnr_syndrome(1));
    bench.pass(microseconds(10));
    EXPECT_EQ(bench.sent().size(), 1U);
    bench.receive_ack(psn);
  }
  EXPECT_EQ(bench.send_statuses().size(), 3U);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// Expect: who is not ready is there: all retries are to be had again.
TEST(Rnr, NakRefillsTheRetriesOfTimeouts) {
  BenchOptions options;
  options.connect.retry_cnt = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  for (int i = 0; i < 3; ++i) {
    bench.pass(kAckTimeout);
    EXPECT_EQ(bench.sent(), kOneSend) << i;
    bench.receive_ack(100, rnr_syndrome(1));
    bench.pass(microseconds(10));
    EXPECT_EQ(bench.sent(), kOneSend) << i;
  }
  EXPECT_EQ(bench.send_statuses(), Statuses{});
}

// Expect: an ACK for what was refused ends the wait; it is from the time before, or from a receiver
// that got ready.
TEST(Rnr, ProgressEndsAWait) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100, rnr_syndrome(20));
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0"}));
}

// Expect: while an RNR wait runs, no ACK timeout does.
TEST(Rnr, NoAckTimeoutDuringAWait) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), kOneSend);
  bench.receive_ack(100, rnr_syndrome(20));
  bench.pass(kAckTimeout * 3);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), Statuses{});
}

}  // namespace
}  // namespace urxe::test::rnr_test
