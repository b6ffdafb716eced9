// SPDX-License-Identifier: BSD-2-Clause
// librdmacm and umad when memory runs out. Whichever allocation of a call fails: the call says so,
// and the same call works when it is made again.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_cma.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/support/failing_allocations.h"

namespace rc_errors {
namespace {

constexpr int kMostAllocations = 1000;
constexpr int kEventTime = 5000;  ///< ms

class CmAllocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!urxe::test::can_fail_allocations()) {
      GTEST_SKIP() << "the sanitizer has its own operator new";
    }
    channel_ = rdma_create_event_channel();
    ASSERT_NE(channel_, nullptr);
    address_.sin_family = AF_INET;
    address_.sin_port = htons(20099);
    inet_pton(AF_INET, "127.0.0.1", &address_.sin_addr);
  }
  void TearDown() override {
    if (channel_ != nullptr) rdma_destroy_event_channel(channel_);
  }

  rdma_cm_id* make_id() {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP), 0);
    return id;
  }
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&address_); }
  /// The next event; -1: none has come.
  int event() {
    pollfd wait{channel_->fd, POLLIN, 0};
    if (poll(&wait, 1, kEventTime) != 1) return -1;
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(rdma_get_cm_event(channel_, &event), 0);
    const int kind = event->event;
    rdma_ack_cm_event(event);
    return kind;
  }
  /// Makes the call while the `n`-th allocation fails. Its result; errno is the call's.
  template <class Call>
  int with_failure(int n, Call call) {
    urxe::test::fail_allocation(n);
    const int result = call();
    const int errno_value = errno;
    has_failed_ = !urxe::test::failure_is_due();
    urxe::test::fail_allocation(0);
    errno = errno_value;
    return result;
  }
  /// The same, and if it cannot be made, once more.
  template <class Call>
  void expect_to_work_again(int n, Call call) {
    if (with_failure(n, call) == 0) return;
    EXPECT_EQ(errno, ENOMEM) << n;
    EXPECT_EQ(call(), 0) << n << ": " << std::strerror(errno);
  }

  rdma_event_channel* channel_ = nullptr;
  sockaddr_in address_{};
  bool has_failed_ = true;
};

// The defect: the service stayed taken until the process ended.
TEST_F(CmAllocations, Listening) {
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    rdma_cm_id* const id = make_id();
    ASSERT_EQ(rdma_bind_addr(id, address()), 0) << n;
    expect_to_work_again(n, [&] { return rdma_listen(id, 1); });
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }
}

// The defect: the port was the id's, which said that it was not bound.
TEST_F(CmAllocations, Binding) {
  address_.sin_addr.s_addr = INADDR_ANY;
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    rdma_cm_id* const id = make_id();
    expect_to_work_again(n, [&] { return rdma_bind_addr(id, address()); });
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }
}

// The defect: the id stayed in between, and no event ever came.
TEST_F(CmAllocations, ResolvingAnAddress) {
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    rdma_cm_id* const id = make_id();
    const auto resolve = [&] { return rdma_resolve_addr(id, nullptr, address(), 1000); };
    expect_to_work_again(n, resolve);
    int told = event();
    if (told == RDMA_CM_EVENT_ADDR_ERROR) {
      EXPECT_EQ(resolve(), 0) << n;
      told = event();
    }
    EXPECT_EQ(told, RDMA_CM_EVENT_ADDR_RESOLVED) << n;
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }
}

TEST_F(CmAllocations, ResolvingARoute) {
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    rdma_cm_id* const id = make_id();
    ASSERT_EQ(rdma_resolve_addr(id, nullptr, address(), 1000), 0);
    ASSERT_EQ(event(), RDMA_CM_EVENT_ADDR_RESOLVED);
    expect_to_work_again(n, [&] { return rdma_resolve_route(id, 1000); });
    EXPECT_EQ(event(), RDMA_CM_EVENT_ROUTE_RESOLVED) << n;
    EXPECT_EQ(rdma_destroy_id(id), 0);
  }
}

// The defect: a request that nobody had read was lost, and its new id with it.
TEST_F(CmAllocations, MigratingAListener) {
  rdma_cm_id* const listener = make_id();
  ASSERT_EQ(rdma_bind_addr(listener, address()), 0);
  ASSERT_EQ(rdma_listen(listener, 8), 0);
  rdma_event_channel* channels[] = {rdma_create_event_channel(), rdma_create_event_channel()};
  ASSERT_EQ(rdma_migrate_id(listener, channels[0]), 0);
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    rdma_cm_id* const client = make_id();
    ASSERT_EQ(rdma_resolve_addr(client, nullptr, address(), 1000), 0);
    ASSERT_EQ(event(), RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_EQ(rdma_resolve_route(client, 1000), 0);
    ASSERT_EQ(event(), RDMA_CM_EVENT_ROUTE_RESOLVED);
    rdma_conn_param parameters{};
    parameters.qp_num = 0x111;
    ASSERT_EQ(rdma_connect(client, &parameters), 0);
    pollfd asked{listener->channel->fd, POLLIN, 0};
    ASSERT_EQ(poll(&asked, 1, kEventTime), 1);
    rdma_event_channel* const target = channels[listener->channel == channels[0] ? 1 : 0];
    expect_to_work_again(n, [&] { return rdma_migrate_id(listener, target); });
    pollfd moved{target->fd, POLLIN, 0};
    ASSERT_EQ(poll(&moved, 1, kEventTime), 1) << n << ": the request is lost";
    rdma_cm_event* request = nullptr;
    ASSERT_EQ(rdma_get_cm_event(target, &request), 0);
    EXPECT_EQ(request->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    rdma_cm_id* const made = request->id;
    rdma_ack_cm_event(request);
    EXPECT_EQ(rdma_destroy_id(made), 0);
    EXPECT_EQ(event(), RDMA_CM_EVENT_REJECTED);
    EXPECT_EQ(rdma_destroy_id(client), 0);
  }
  EXPECT_EQ(rdma_destroy_id(listener), 0);
  for (rdma_event_channel* channel : channels) rdma_destroy_event_channel(channel);
}

// The defect: the class stayed taken on the device.
TEST_F(CmAllocations, RegisteringAnAgent) {
  for (int n = 1; has_failed_; ++n) {
    ASSERT_LT(n, kMostAllocations);
    const int fd = open("/dev/infiniband/umad0", O_RDWR | O_NONBLOCK);
    ASSERT_GE(fd, 0) << std::strerror(errno);
    ib_user_mad_reg_req request{};
    request.qpn = 1;
    request.mgmt_class = 0x0b;
    request.mgmt_class_version = 1;
    request.method_mask[0] = 1 << 1;
    expect_to_work_again(n, [&] { return ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &request); });
    EXPECT_EQ(close(fd), 0);
  }
}

}  // namespace
}  // namespace rc_errors
