// SPDX-License-Identifier: BSD-2-Clause
// A thread polls while another one holds the device's lock, perhaps without a processor.
#include <gtest/gtest.h>
#include <sched.h>
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

class HeldLock : public testing::Test {
 protected:
  void SetUp() override {
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::make_unique<ScarceEngine>(), {}));
  }
  /// How often a thread that polls so often gives way. The lock is held meanwhile.
  int yields_of(int polls) {
    const Progress::Guard guard(progress_);
    int counted = 0;
    std::thread([&] {
      const int before = yields;
      for (int i = 0; i < polls; ++i) {
        const CompletionQueue& cq = *bench_.recv_cq;
        EXPECT_EQ(progress_.poll(cq, [] { return 0; }), 0);
      }
      counted = yields - before;
    }).join();
    return counted;
  }

  RuntimeDevice owner_{loopback_device("held_lock_test")};
  Bench bench_;
  Progress progress_{bench_.device, owner_};
};

TEST_F(HeldLock, PollersGiveWayToTheHolder) {
  EXPECT_GE(yields_of(5000), 3);
}

// The holder mostly has a processor, and is done in a microsecond.
TEST_F(HeldLock, NotAtOnce) {
  EXPECT_EQ(yields_of(500), 0);
}

}  // namespace
}  // namespace urxe::test::held_lock_test
