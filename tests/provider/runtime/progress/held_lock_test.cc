// SPDX-License-Identifier: BSD-2-Clause
// A thread polls while another one holds the device's lock, perhaps without a processor.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace {
thread_local int yields = 0;
}  // namespace

/// The C library's, counted.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace urxe::test::held_lock_test {
namespace {

/// How often the calling thread has slept.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

struct GivenWay {
  int yields = 0;
  long sleeps = 0;
};

class HeldLock : public testing::Test {
 protected:
  void SetUp() override {
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::make_unique<ScarceEngine>(), {}));
  }
  /// How often a thread that polls so often gives way. The lock is held meanwhile.
  GivenWay ways_of(int polls) {
    const Progress::Guard guard(progress_);
    GivenWay counted;
    std::thread([&] {
      const int yields_before = yields;
      const long sleeps_before = sleeps();
      for (int i = 0; i < polls; ++i) {
        const CompletionQueue& cq = *bench_.recv_cq;
        EXPECT_EQ(progress_.poll(cq, [] { return 0; }), 0);
      }
      counted = {yields - yields_before, sleeps() - sleeps_before};
    }).join();
    return counted;
  }

  RuntimeDevice owner_{loopback_device("held_lock_test")};
  Bench bench_;
  Progress progress_{bench_.device, owner_};
};

TEST_F(HeldLock, PollersGiveWayToTheHolder) {
  const GivenWay ways = ways_of(5000);
  EXPECT_GE(ways.yields + ways.sleeps, 3);  // it sleeps if the yields show that the host is crowded
}

// The holder mostly has a processor, and is done in a microsecond.
TEST_F(HeldLock, NotAtOnce) {
  EXPECT_EQ(ways_of(500).yields, 0);
}

}  // namespace
}  // namespace urxe::test::held_lock_test
