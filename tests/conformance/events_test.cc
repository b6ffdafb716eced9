// SPDX-License-Identifier: BSD-2-Clause
// Asynchronous events: how they are read and acknowledged. Which events come is tested where the
// reason for them is.
#include <fcntl.h>

#include <atomic>
#include <thread>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Events : PairConformance {
  /// An IBV_EVENT_SQ_DRAINED for the left side waits to be read.
  void make_event() {
    connect_pair();
    if (stopped()) return;
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_SQD;
    attr.en_sqd_async_notify = 1;
    ASSERT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    ASSERT_TRUE(readable(context()->async_fd, kPatience));
  }
  void set_non_blocking() {
    const int flags = ::fcntl(context()->async_fd, F_GETFL);
    ASSERT_EQ(::fcntl(context()->async_fd, F_SETFL, flags | O_NONBLOCK), 0);
  }
};

TEST_F(Events, NonBlockingRead) {
  checks("ibv_get_async_event(3): non-blocking mode; -1 and EAGAIN");
  set_non_blocking();
  ibv_async_event event{};
  errno = 0;
  EXPECT_EQ(ibv_get_async_event(context(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Events, ReadOnce) {
  checks("ibv_get_async_event(3)");
  make_event();
  if (stopped()) return;
  EXPECT_EQ(expect_event(context(), IBV_EVENT_SQ_DRAINED).element.qp, left_qp());
  expect_no_event(context());
}

TEST_F(Events, BlockingReadWakesUp) {
  checks("ibv_get_async_event(3): blocks until an event comes");
  connect_pair();
  if (stopped()) return;
  ibv_async_event event{};
  std::thread reader([&] {
    if (ibv_get_async_event(context(), &event) == 0) ibv_ack_async_event(&event);
  });
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  EXPECT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  reader.join();
  EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
}

TEST_F(Events, DestroyWaitsForTheAcknowledgement) {
  checks("ibv_get_async_event(3): destroying waits for all affiliated events");
  make_event();
  if (stopped()) return;
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context(), &event), 0);
  std::atomic<bool> acknowledged{false};
  std::atomic<bool> early{false};
  std::thread destroyer([&] {
    left_->qp.reset();
    early = !acknowledged;
  });
  // Time enough for a destroyer that does not wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  acknowledged = true;
  ibv_ack_async_event(&event);
  destroyer.join();
  EXPECT_FALSE(early);
}

TEST_F(Events, UnreadEventGoesWithItsObject) {
  checks("ibv_get_async_event(3): no event of an object that is gone");
  make_event();
  if (stopped()) return;
  left_->qp.reset();
  set_non_blocking();
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context(), &event), -1);
}

TEST_F(Events, EachContextHasItsOwn) {
  checks("ibv_get_async_event(3): events of the context");
  const Device second = Device::open();
  make_event();
  if (stopped()) return;
  expect_no_event(second.context.get());
  expect_event(context(), IBV_EVENT_SQ_DRAINED);
}

TEST_F(Events, NamesOfTypes) {
  checks("ibv_event_type_str(3), ibv_wc_status_str(3)");
  EXPECT_STRNE(ibv_event_type_str(IBV_EVENT_SQ_DRAINED), "unknown");
  EXPECT_STRNE(ibv_wc_status_str(IBV_WC_LOC_PROT_ERR), "unknown");
}

}  // namespace
}  // namespace conformance
