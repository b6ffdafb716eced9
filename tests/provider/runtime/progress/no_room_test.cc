// SPDX-License-Identifier: BSD-2-Clause
// A device whose engine has no room for a while.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "packet/host/clock.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace urxe::test::no_room_test {
namespace {

class NoRoom : public testing::Test {
 protected:
  void SetUp() override {
    auto made = std::make_unique<ScarceEngine>();
    engine_ = made.get();
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::move(made)));
  }
  void post(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      bench_.post_datagram(16);
      progress_.on_post(*bench_.qp);
    }
  }
  void give_room(size_t packets) {
    Progress::Guard guard(progress_);
    engine_->give_room(packets);
  }
  std::vector<uint32_t> taken() {
    Progress::Guard guard(progress_);
    return engine_->taken;
  }
  static std::vector<uint32_t> sent_in_order(size_t count) {
    std::vector<uint32_t> psns;
    for (uint32_t i = 0; i < count; ++i) psns.push_back(kSqPsn + i);
    return psns;
  }

  RuntimeDevice owner_{loopback_device("no_room_test")};
  Bench bench_{datagram_options()};
  Progress progress_{bench_.device, owner_};
  ScarceEngine* engine_ = nullptr;
};

// Expect: all goes in order, without another post or poll.
TEST_F(NoRoom, WhatWaitsGoesWhenThereIsRoom) {
  post(10);
  EXPECT_TRUE(taken().empty());
  give_room(3);
  EXPECT_TRUE(eventually([&] { return taken().size() == 3; }));
  give_room(100);
  EXPECT_TRUE(eventually([&] { return taken().size() == 10; }));
  EXPECT_EQ(taken(), sent_in_order(10));
}

// What another thread posts at that moment is the parent's to send.
TEST_F(NoRoom, AForkedChildSendsNothing) {
  progress_.before_fork();
  bench_.post_datagram(16);
  bench_.device.ring_doorbell(*bench_.qp);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    progress_.after_fork_in_child();
    { Progress::Guard guard(progress_); }
    _exit(0);
  }
  progress_.after_fork_in_parent();
  ASSERT_GT(child, 0);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Expect: the batch that waits is not filled further; the engine looks whether it is so.
TEST_F(NoRoom, TheDeviceKeepsWhatIsPostedMeanwhile) {
  post(1);
  // The background thread may have the device at that moment.
  ASSERT_TRUE(eventually([&] {
    Progress::Guard guard(progress_);
    return engine_->offers > 0;
  }));
  post(30);
  {
    Progress::Guard guard(progress_);
    EXPECT_EQ(engine_->most_offered, 1U);
    EXPECT_EQ(bench_.send_statuses().size(), 1U) << "the others have not been sent";
  }
  give_room(100);
  EXPECT_TRUE(eventually([&] { return taken().size() == 31; }));
  EXPECT_EQ(taken(), sent_in_order(31));
}

// Expect: a thread looks now and then whether there is room, and does not spin. On a busy machine
// there are fewer looks.
TEST_F(NoRoom, NobodySpins) {
  post(2);
  const Instant begin = clock_now();
  uint64_t before = 0;
  {
    Progress::Guard guard(progress_);
    before = engine_->offers;
  }
  while (clock_now() < begin + milliseconds(50)) usleep(10000);
  Progress::Guard guard(progress_);
  const auto ms = static_cast<uint64_t>((clock_now() - begin).ns / 1000000);
  EXPECT_LE(engine_->offers - before, 4 * ms + 20);
}

// Expect: what the engine has not taken is a copy, for the application may take its memory away as
// soon as the device is unlocked.
TEST(NoRoomForLongMessages, NoPayloadStaysElsewhere) {
  RuntimeDevice owner(loopback_device("no_room_test"));
  Bench bench;
  Progress progress(bench.device, owner);
  TxBatch::Limits limits;
  limits.elsewhere_from = kMtu;
  auto made = std::make_unique<ScarceEngine>(limits);
  ScarceEngine& engine = *made;
  {
    Progress::Guard guard(progress);
    ASSERT_TRUE(progress.start(std::move(made)));
  }
  bench.post(IBV_WR_SEND, 4 * kMtu);
  progress.on_post(*bench.qp);
  const auto has_offered = [&](uint64_t times) {
    return eventually([&] {
      Progress::Guard guard(progress);
      return engine.offers >= times;
    });
  };
  EXPECT_TRUE(has_offered(3)) << "the engine looks whether a payload is elsewhere";
  Progress::Guard guard(progress);
  EXPECT_TRUE(engine.any_elsewhere) << "at first";
  EXPECT_TRUE(engine.taken.empty());
}

}  // namespace
}  // namespace urxe::test::no_room_test
