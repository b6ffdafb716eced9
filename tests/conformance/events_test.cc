// SPDX-License-Identifier: BSD-2-Clause
// Asynchronous events: how they are read, and when objects with events may go.
#include <fcntl.h>

#include <atomic>
#include <thread>

#include "tests/conformance/support/fixture.h"
#include "tests/conformance/support/waiter.h"

namespace conformance {
namespace {

struct Events : PairConformance {
  /// The left side asks for a region that does not exist: the right queue pair has an access error.
  void cause_access_error() {
    Buffer source(left_->pd, 8);
    ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE)
                  .data(source.sge())
                  .remote(source.address(), source.rkey() ^ 0x55555500)
                  .post(left_qp()),
              0);
    expect_completion(left_done(), 1, IBV_WC_REM_ACCESS_ERR);
  }
  void set_blocking(bool blocking) {
    const int flags = fcntl(context()->async_fd, F_GETFL);
    ASSERT_EQ(
        fcntl(context()->async_fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK),
        0);
  }
};

TEST_F(Events, NoneWaitsOnANewContext) {
  checks("ibv_get_async_event(3)");
  expect_no_event(context());
}

TEST_F(Events, NonBlockingReadFindsNothing) {
  checks("ibv_get_async_event(3): EXAMPLES, non-blocking");
  set_blocking(false);
  ibv_async_event event{};
  errno = 0;
  EXPECT_EQ(ibv_get_async_event(context(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Events, DescriptorBecomesReadable) {
  checks("ibv_get_async_event(3): the file descriptor can be polled");
  connect_pair();
  if (stopped()) return;
  cause_access_error();
  EXPECT_TRUE(readable(context()->async_fd, kPatience));
  const ibv_async_event event = await_event(context(), IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, right_qp());
}

TEST_F(Events, BlockedReaderIsWoken) {
  checks("ibv_get_async_event(3): blocks until an event comes");
  connect_pair();
  if (stopped()) return;
  Waiter reader([this] {
    await_event(context(), IBV_EVENT_QP_ACCESS_ERR);
    return 0;
  });
  cause_access_error();
  EXPECT_EQ(reader.outcome(), 0);
}

TEST_F(Events, DestroyWaitsForTheAcknowledgement) {
  checks("ibv_ack_async_event(3): destroying waits until all events are acknowledged");
  connect_pair();
  if (stopped()) return;
  cause_access_error();
  ASSERT_TRUE(readable(context()->async_fd, kPatience));
  ibv_async_event event{};
  do {
    ASSERT_EQ(ibv_get_async_event(context(), &event), 0);
    if (event.event_type != IBV_EVENT_QP_ACCESS_ERR) ibv_ack_async_event(&event);
  } while (event.event_type != IBV_EVENT_QP_ACCESS_ERR);
  std::atomic<bool> acknowledged{false};
  bool in_order = false;
  std::thread destroyer([&] {
    right_->qp.reset();
    in_order = acknowledged.load();
  });
  // Time enough for a destroyer that does not wait.
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  acknowledged = true;
  ibv_ack_async_event(&event);
  destroyer.join();
  EXPECT_TRUE(in_order);
}

TEST_F(Events, UnreadEventsGoWithTheirQueuePair) {
  checks("ibv_destroy_qp(3): events that nobody has read need no acknowledgement");
  connect_pair();
  if (stopped()) return;
  cause_access_error();
  ASSERT_TRUE(readable(context()->async_fd, kPatience));
  right_->qp.reset();
  set_blocking(false);
  ibv_async_event event{};
  while (ibv_get_async_event(context(), &event) == 0) {
    EXPECT_NE(event.event_type, IBV_EVENT_QP_ACCESS_ERR) << "of a queue pair that is gone";
    ibv_ack_async_event(&event);
  }
}

TEST_F(Events, EachContextHasItsOwn) {
  checks("ibv_get_async_event(3): events of this context");
  const Device other = Device::open();
  ASSERT_NE(other.context, nullptr);
  connect_pair();
  if (stopped()) return;
  cause_access_error();
  await_event(context(), IBV_EVENT_QP_ACCESS_ERR);
  expect_no_event(other.context.get());
}

TEST_F(Events, CommunicationEstablishedOnceInRtr) {
  checks("ibv_get_async_event(3): IBV_EVENT_COMM_EST");
  make_pair({}, {});
  if (stopped()) return;
  ASSERT_EQ(to_init(device_, right_qp(), right_->config), 0);
  Buffer target(right_->pd, 16);
  ASSERT_EQ(Recv(7).data(target.sge(0, 8)).post(right_qp()), 0);
  ASSERT_EQ(Recv(8).data(target.sge(8, 8)).post(right_qp()), 0);
  ASSERT_EQ(to_rtr(device_, right_qp(), right_->config, left_->number()), 0);
  left_->connect_to(right_->number());
  Buffer source(left_->pd, 8);
  ASSERT_EQ(Send(1).data(source.sge()).post(left_qp()), 0);
  ASSERT_EQ(Send(2).data(source.sge()).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(left_done(), 2);
  const ibv_async_event event = expect_event(context(), IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.element.qp, right_qp());
  expect_completion(right_received(), 7);
  expect_completion(right_received(), 8);
  expect_no_event(context());
}

TEST_F(Events, NamesOfAllTypes) {
  checks("ibv_event_type_str(3)");
  for (int type = IBV_EVENT_CQ_ERR; type <= IBV_EVENT_WQ_FATAL; ++type) {
    EXPECT_STRNE(ibv_event_type_str(static_cast<ibv_event_type>(type)), "unknown");
  }
}

}  // namespace
}  // namespace conformance
