// SPDX-License-Identifier: BSD-2-Clause
// When what the application posts reaches the engine.
#include <gtest/gtest.h>

#include <memory>

#include "packet/host/clock.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace urxe::test::posting_test {
namespace {

BenchOptions datagrams() {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  return options;
}

class PostedDatagrams : public testing::Test {
 protected:
  void SetUp() override {
    auto made = std::make_unique<ScarceEngine>(TxBatch::Limits(), 1000);
    engine_ = made.get();
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::move(made), {}));
  }
  void post(unsigned flags) {
    bench_.post_datagram(16, kQKey, flags);
    progress_.on_post(*bench_.qp);
  }
  /// So that the background thread rests.
  void poll_for(Duration time) {
    const Instant end = clock_now() + time;
    while (clock_now() < end) (void)progress_.poll(*bench_.send_cq, [] { return 0; });
  }

  RuntimeDevice owner_{loopback_device("posting_test")};
  Bench bench_{datagrams()};
  Progress progress_{bench_.device, owner_};
  ScarceEngine* engine_ = nullptr;
};

// UCX writes to the buffer of a datagram before it has the completion. Expect: the packet has been
// built when the call returns, also if it is to wait for others; and it goes.
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

// Expect: datagrams that wait go before their queue pair does.
TEST_F(PostedDatagrams, GoBeforeTheirQueuePair) {
  poll_for(milliseconds(2));
  for (int i = 0; i < 3; ++i) post(0);
  Progress::Guard guard(progress_);
  progress_.flush_acks();
  EXPECT_EQ(engine_->taken.size(), 3U);
}

// Inline data is the queue's own: it may wait. Expect: it goes, although nobody polls and no packet
// comes.
TEST_F(PostedDatagrams, WithInlineDataGoInTheEnd) {
  for (int i = 0; i < 30; ++i) post(IBV_SEND_INLINE);
  EXPECT_TRUE(eventually([&] { return engine_->taken_so_far.load() == 30U; }));
}

}  // namespace
}  // namespace urxe::test::posting_test
