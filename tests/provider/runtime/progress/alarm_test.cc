// SPDX-License-Identifier: BSD-2-Clause
// Waking a sleeping thread at a time that another one sets.
#include "provider/runtime/progress/alarm.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "packet/host/clock.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace {
thread_local int alarms_set = 0;
}  // namespace

/// Replaces the C library's function, and counts the calls.
extern "C" int timerfd_settime(int fd, int flags, const itimerspec* time,
                               itimerspec* before) noexcept {
  ++alarms_set;
  return static_cast<int>(syscall(SYS_timerfd_settime, fd, flags, time, before));
}

namespace urxe::test::alarm_test {
namespace {

/// Whether the alarm rings within `patience`.
bool rings(const Alarm& alarm, Duration patience) {
  pollfd fd{alarm.fd(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(patience.ns / 1000000)) == 1;
}

TEST(Alarm, RingsOnceAtItsTime) {
  Alarm alarm;
  ASSERT_TRUE(alarm.open());
  EXPECT_FALSE(rings(alarm, milliseconds(1)));
  const Instant when = clock_now() + milliseconds(5);
  alarm.set(when);
  EXPECT_TRUE(rings(alarm, seconds(20)));
  EXPECT_GE(clock_now().ns, when.ns);
  alarm.silence();
  EXPECT_FALSE(rings(alarm, milliseconds(1)));
  alarm.silence();  // does not block
}

TEST(Alarm, ATimeThatHasPassedRingsAtOnce) {
  Alarm alarm;
  ASSERT_TRUE(alarm.open());
  for (const Instant when : {Instant{0}, Instant{-5}, clock_now()}) {
    alarm.set(when);
    EXPECT_TRUE(rings(alarm, seconds(20)));
    alarm.silence();
  }
}

// Expect: a thread that sleeps already hears an alarm that is set meanwhile, or set to an earlier
// time.
TEST(Alarm, WakesAThreadThatSleeps) {
  Alarm alarm;
  ASSERT_TRUE(alarm.open());
  alarm.set(clock_now() + seconds(1000));
  std::thread sleeper([&] { EXPECT_TRUE(rings(alarm, seconds(60))); });
  alarm.set(clock_now() + milliseconds(1));
  sleeper.join();
}

class SleepingThread : public testing::Test {
 protected:
  void SetUp() override {
    auto made = std::make_unique<ScarceEngine>(TxBatch::Limits{}, 1000);
    engine_ = made.get();
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::move(made)));
  }
  bool sleeps() {
    Progress::Guard guard(progress_);
    return engine_->waits > 0;
  }
  size_t sent() {
    Progress::Guard guard(progress_);
    return engine_->taken.size();
  }

  RuntimeDevice owner_{loopback_device("alarm_test")};
  Bench bench_;
  Progress progress_{bench_.device, owner_};
  ScarceEngine* engine_ = nullptr;
};

// Expect: a thread that posts does not wake the background thread, which sleeps without a timeout.
// It sets the alarm instead, and the request is repeated in time.
TEST_F(SleepingThread, WakesInTimeForARequestThatIsNotAnswered) {
  ASSERT_TRUE(eventually([&] { return sleeps(); }));
  const int alarms_before = alarms_set;
  bench_.post(IBV_WR_RDMA_WRITE, 8);
  progress_.on_post(*bench_.qp);
  EXPECT_EQ(alarms_set - alarms_before, 1);
  EXPECT_TRUE(eventually([&] { return sent() >= 2; }));
}

// Expect: while a completion queue is armed, no alarm is set, and the request is repeated, too.
TEST_F(SleepingThread, IsWokenAtOnceForWhoWaitsForAnEvent) {
  ASSERT_TRUE(eventually([&] { return sleeps(); }));
  Progress::CountedBy counted{nullptr};
  progress_.on_armed(counted, nullptr);
  const int alarms_before = alarms_set;
  bench_.post(IBV_WR_RDMA_WRITE, 8);
  progress_.on_post(*bench_.qp);
  EXPECT_EQ(alarms_set - alarms_before, 0);
  EXPECT_TRUE(eventually([&] { return sent() >= 2; }));
  Progress::on_disarmed(counted, nullptr);
}

// Expect: a queue that another lane takes over is that lane's alone, whoever disarms it.
TEST_F(SleepingThread, IsNotConcernedByAQueueThatAnotherLaneHasTaken) {
  ASSERT_TRUE(eventually([&] { return sleeps(); }));
  Progress other(bench_.device);
  Progress::CountedBy counted{nullptr};
  progress_.on_armed(counted, nullptr);
  other.take_over_armed(counted, progress_, nullptr);
  EXPECT_EQ(counted.load(), &other);
  progress_.take_over_armed(counted, progress_, nullptr);  // it does not count it any more
  Progress::on_disarmed(counted, nullptr);
  other.take_over_armed(counted, progress_, nullptr);  // nobody does
  EXPECT_EQ(counted.load(), nullptr);
  const int alarms_before = alarms_set;
  bench_.post(IBV_WR_RDMA_WRITE, 8);
  progress_.on_post(*bench_.qp);
  EXPECT_EQ(alarms_set - alarms_before, 1);  // as without an armed queue
}

}  // namespace
}  // namespace urxe::test::alarm_test
