// SPDX-License-Identifier: BSD-2-Clause
// Timestamps, overruns and moderation of completion queues (ibv_create_cq_ex(3), ibv_modify_cq(3)).
#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr Duration kPeriod = microseconds(40);

/// A queue pair whose peer acknowledges at once; `cq` is its send completion queue.
struct ModeratedBench : Bench {
  explicit ModeratedBench(CqModeration moderation) { device.moderate_cq(*send_cq, moderation); }

  void complete_one() {
    post(IBV_WR_RDMA_WRITE, 0);
    (void)sent();
    receive_ack(psn_++);
  }
  bool take_event() {
    CompletionQueue* cq = device.take_notified();
    EXPECT_TRUE(cq == nullptr || cq == send_cq);
    return cq != nullptr;
  }
  bool event_after(Duration duration) {
    pass(duration);
    device.advance(now);
    return take_event();
  }

 private:
  uint32_t psn_ = kSqPsn;
};

TEST(CqModeration, NoneTellsAtOnce) {
  ModeratedBench bench({});
  bench.send_cq->arm(false);
  bench.complete_one();
  EXPECT_TRUE(bench.take_event());
  EXPECT_FALSE(bench.send_cq->is_armed());
}

TEST(CqModeration, CountOfOneTellsAtOnce) {
  ModeratedBench bench({.count = 1, .period = kPeriod});
  bench.send_cq->arm(false);
  bench.complete_one();
  EXPECT_TRUE(bench.take_event());
}

TEST(CqModeration, TellsAfterCount) {
  ModeratedBench bench({.count = 3, .period = {}});
  bench.send_cq->arm(false);
  bench.complete_one();
  bench.complete_one();
  EXPECT_FALSE(bench.event_after(seconds(1)));
  bench.complete_one();
  EXPECT_TRUE(bench.take_event());
  EXPECT_FALSE(bench.send_cq->is_armed());
}

TEST(CqModeration, TellsAfterPeriodOfTheFirst) {
  ModeratedBench bench({.count = 3, .period = kPeriod});
  bench.send_cq->arm(false);
  const Instant first = bench.now;
  bench.complete_one();
  EXPECT_LE(bench.device.next_deadline(), first + kPeriod);
  EXPECT_FALSE(bench.event_after(kPeriod - nanoseconds(1000)));
  bench.complete_one();
  EXPECT_FALSE(bench.take_event());
  EXPECT_TRUE(bench.event_after(nanoseconds(1000)));
  EXPECT_FALSE(bench.event_after(kPeriod));
}

// Expect: the deadline is not met by a timer of a queue pair, because none runs.
TEST(CqModeration, DeadlineIsTheDevices) {
  ModeratedBench bench({.count = 0, .period = kPeriod});
  bench.complete_one();
  EXPECT_FALSE(bench.event_after(seconds(10)));  // not armed; the retry timer finds nothing to do
  ASSERT_EQ(bench.device.next_deadline(), std::nullopt);
  bench.post_receive();
  bench.send_cq->arm(false);
  bench.complete_one();
  EXPECT_LE(bench.device.next_deadline(), bench.now + kPeriod);
  EXPECT_TRUE(bench.event_after(kPeriod));
}

TEST(CqModeration, CountsAnewAfterAnEvent) {
  ModeratedBench bench({.count = 2, .period = {}});
  for (int round = 0; round < 3; ++round) {
    bench.send_cq->arm(false);
    bench.complete_one();
    EXPECT_FALSE(bench.take_event()) << round;
    bench.complete_one();
    EXPECT_TRUE(bench.take_event()) << round;
  }
}

TEST(CqModeration, FailureTellsAtOnce) {
  ModeratedBench bench({.count = 100, .period = seconds(1)});
  bench.send_cq->arm(false);
  bench.complete_one();
  bench.post(IBV_WR_RDMA_WRITE, 0);
  EXPECT_FALSE(bench.take_event());
  bench.move_to(IBV_QPS_ERR);
  EXPECT_TRUE(bench.take_event());
  EXPECT_FALSE(bench.send_cq->is_armed());
}

// Expect: what is held back comes when moderation is taken off, and not a second time.
TEST(CqModeration, ChangeLetsTheEventOut) {
  ModeratedBench bench({.count = 100, .period = seconds(1)});
  bench.send_cq->arm(false);
  bench.complete_one();
  EXPECT_FALSE(bench.take_event());
  bench.device.moderate_cq(*bench.send_cq, {});
  EXPECT_TRUE(bench.take_event());
  EXPECT_FALSE(bench.event_after(seconds(2)));
}

TEST(CqModeration, UnsolicitedAreNotCounted) {
  ModeratedBench bench({.count = 1, .period = {}});
  bench.send_cq->arm(true);
  bench.complete_one();
  EXPECT_FALSE(bench.take_event());
  EXPECT_TRUE(bench.send_cq->is_armed());
}

TEST(CqModeration, DestroyedWhileItHoldsAnEvent) {
  ModeratedBench bench({.count = 9, .period = kPeriod});
  bench.send_cq->arm(false);
  bench.complete_one();
  bench.device.destroy_qp(bench.qp);
  ASSERT_TRUE(bench.device.destroy_cq(bench.send_cq).has_value());
  EXPECT_FALSE(bench.event_after(kPeriod));
}

constexpr Instant at(int64_t ns) {
  return Instant{ns};
}

ibv_wc completion(uint64_t id) {
  ibv_wc wc{};
  wc.wr_id = id;
  return wc;
}

TEST(CompletionQueue, StampsAreKeptThroughPurgeAndResize) {
  CompletionQueue cq(4, nullptr, {.timestamps = true});
  ibv_wc other = completion(9);
  other.qp_num = 7;
  (void)cq.push(completion(1), false, at(10));
  (void)cq.push(other, false, at(20));
  (void)cq.push(completion(2), false, at(30));
  cq.purge(7);
  ASSERT_TRUE(cq.resize(64));
  (void)cq.push(completion(3), false, at(40));
  StampedCompletion taken;
  for (uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(cq.poll_one(taken));
    EXPECT_EQ(taken.wc.wr_id, id);
    EXPECT_EQ(taken.when, at(id == 1 ? 10 : static_cast<int64_t>(id) * 10 + 10));
  }
  EXPECT_FALSE(cq.poll_one(taken));
}

TEST(CompletionQueue, WithoutTimestampsTheyAreZero) {
  CompletionQueue cq(4, nullptr);
  (void)cq.push(completion(1), false, at(10));
  StampedCompletion taken;
  ASSERT_TRUE(cq.poll_one(taken));
  EXPECT_EQ(taken.when, at(0));
}

TEST(CompletionQueue, PollingOneFreesTheWorkQueuesPlaces) {
  CompletionQueue cq(4, nullptr);
  std::atomic<uint32_t> freed{0};
  (void)cq.push(completion(1), false, at(10), {&freed, 5});
  StampedCompletion taken;
  ASSERT_TRUE(cq.poll_one(taken));
  EXPECT_EQ(freed.load(), 5U);
}

TEST(CompletionQueue, OverrunIgnored) {
  CompletionQueue cq(2, nullptr, {.ignore_overrun = true});
  EXPECT_EQ(cq.push(completion(1), false, at(0)), CompletionQueue::Push::kQuiet);
  EXPECT_EQ(cq.push(completion(2), false, at(0)), CompletionQueue::Push::kQuiet);
  EXPECT_EQ(cq.push(completion(3), false, at(0)), CompletionQueue::Push::kLost);
  EXPECT_FALSE(cq.in_error());
  ibv_wc wc{};
  EXPECT_EQ(cq.poll(1, &wc), 1);
  EXPECT_EQ(cq.push(completion(4), false, at(0)), CompletionQueue::Push::kQuiet);
}

// Expect: the completion is lost and the queue pair lives on.
TEST(CompletionQueue, OverrunIgnoredByTheQueuePair) {
  BenchOptions options;
  options.cq_entries = 1;
  options.cq_options.ignore_overrun = true;
  Bench bench(options);
  for (int i = 0; i < 2; ++i) bench.post(IBV_WR_RDMA_WRITE, 0);
  (void)bench.sent();
  bench.receive_ack(kSqPsn + 1);
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.device.counters().cq_overflows, 1U);
}

// Expect: each bears the time that the device was told with what made it.
TEST(CompletionQueue, StampedWithTheDevicesTime) {
  BenchOptions options;
  options.cq_options.timestamps = true;
  Bench bench(options);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  (void)bench.sent();
  bench.pass(microseconds(7));
  const Instant acknowledged = bench.now;
  bench.receive_ack(kSqPsn);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.pass(microseconds(7));
  bench.move_to(IBV_QPS_ERR);
  StampedCompletion taken;
  ASSERT_TRUE(bench.send_cq->poll_one(taken));
  EXPECT_EQ(taken.when, acknowledged);
  ASSERT_TRUE(bench.send_cq->poll_one(taken));
  EXPECT_EQ(taken.wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(taken.when, bench.now);
}

// ibv_create_cq(3), ibv_resize_cq(3). Expect: as many entries as were asked for, whatever the ring
// has places for.
TEST(CompletionQueue, HoldsWhatItWasMadeFor) {
  CompletionQueue cq(3, nullptr);
  const auto push = [&cq](uint64_t id) {
    ibv_wc wc{};
    wc.wr_id = id;
    return cq.push(wc, false, Instant{}, {});
  };
  for (uint64_t id = 0; id < 3; ++id) EXPECT_EQ(push(id), CompletionQueue::Push::kQuiet) << id;
  EXPECT_FALSE(cq.resize(2)) << "three wait";
  EXPECT_TRUE(cq.resize(3));
  EXPECT_EQ(push(3), CompletionQueue::Push::kOverflow);
}

}  // namespace
}  // namespace urxe::test
