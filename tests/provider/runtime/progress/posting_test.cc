// SPDX-License-Identifier: BSD-2-Clause
// When what the application posts reaches the engine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "packet/host/clock.h"
#include "packet/host/file_descriptor.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace urxe::test::posting_test {
namespace {

class PostedDatagrams : public testing::Test {
 protected:
  void SetUp() override {
    auto made = std::make_unique<ScarceEngine>(TxBatch::Limits(), 1000);
    engine_ = made.get();
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::move(made)));
  }
  void post(unsigned flags) {
    bench_.post_datagram(16, kQKey, flags);
    progress_.on_post(*bench_.qp);
  }
  /// The background thread rests afterwards.
  void poll_for(Duration time) {
    const Instant end = clock_now() + time;
    while (clock_now() < end) (void)progress_.poll(*bench_.send_cq, [] { return 0; });
  }

  RuntimeDevice owner_{loopback_device("posting_test")};
  Bench bench_{datagram_options()};
  Progress progress_{bench_.device, owner_};
  ScarceEngine* engine_ = nullptr;
};

// UCX writes to the buffer of a datagram before it has the completion. Expect: when the call
// returns, the packet has been built, even if it waits for others; and it is sent.
TEST_F(PostedDatagrams, AreReadAtOnce) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    poll_for(milliseconds(2));
    for (int i = 0; i < 3; ++i) {
      post(0);
      EXPECT_EQ(bench_.send_statuses().size(), 1U);
    }
  }
  EXPECT_TRUE(eventually([&] { return engine_->taken_so_far.load() == 3U * kRounds; }));
}

// Expect: datagrams that wait for others are sent before their queue pair is destroyed.
TEST_F(PostedDatagrams, GoBeforeTheirQueuePair) {
  for (size_t round = 1; round <= 10; ++round) {
    for (int i = 0; i < 12; ++i) post(0);
    EXPECT_EQ(bench_.send_statuses().size(), 12U);
    Progress::Guard guard(progress_);
    progress_.flush_acks();
    EXPECT_EQ(engine_->taken.size(), 12 * round);
  }
}

// Expect: datagrams that wait for others are sent, although the background thread sleeps, the
// application does not poll, and no packet arrives.
TEST_F(PostedDatagrams, WithInlineDataGoInTheEnd) {
  ASSERT_TRUE(eventually([&] {
    Progress::Guard guard(progress_);
    return engine_->waits > 0;
  }));
  for (int i = 0; i < 30; ++i) post(IBV_SEND_INLINE);
  EXPECT_TRUE(eventually([&] { return engine_->taken_so_far.load() == 30U; }));
}

// The defect: a request that one thread posted while another one was in fork() waited until the
// application's next verb.
TEST_F(PostedDatagrams, DuringAForkGoAfterIt) {
  ASSERT_TRUE(eventually([&] {
    Progress::Guard guard(progress_);
    return engine_->waits > 0;
  }));
  progress_.before_fork();
  std::thread([&] { post(IBV_SEND_INLINE); }).join();
  EXPECT_EQ(engine_->taken_so_far.load(), 0U);
  progress_.after_fork_in_parent();
  EXPECT_TRUE(eventually([&] { return engine_->taken_so_far.load() == 1U; }));
}

// The defect: events for which a socket had no room waited for as long as the application polled.
TEST_F(PostedDatagrams, EventsThatHaveFoundNoRoomComeWhileTheApplicationPolls) {
  constexpr uint64_t kEvents = 65000;  // more than go to the socket at once
  int reader = -1;
  const auto socket = EventSocket::create(sizeof(uint64_t), &reader);
  ASSERT_TRUE(socket.has_value());
  const FileDescriptor closed_at_end(reader);
  fcntl(reader, F_SETFL, O_NONBLOCK);
  for (uint64_t i = 0; i < kEvents; ++i) ASSERT_TRUE((*socket)->send({}));
  ASSERT_TRUE((*socket)->has_waiting());
  poll_for(milliseconds(5));
  {
    Progress::Guard guard(progress_);
    progress_.flush_later(*socket);
  }
  // It reads a few at a time, so that the background thread never has to take over.
  constexpr uint64_t kAtOnce = 20;
  uint64_t read_so_far = 0;
  const Instant end = clock_now() + seconds(20);
  while (read_so_far < kEvents && clock_now() < end) {
    poll_for(microseconds(100));
    uint64_t event = 0;
    for (uint64_t i = 0; i < kAtOnce; ++i) {
      if (read(reader, &event, sizeof event) == sizeof event) ++read_so_far;
    }
  }
  EXPECT_EQ(read_so_far, kEvents);
}

}  // namespace
}  // namespace urxe::test::posting_test
