// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/completion.h"

#include <poll.h>
#include <sched.h>

namespace conformance {
namespace {

bool take_event(ibv_context* context, ibv_async_event& event) {
  if (!readable(context->async_fd, kPatience)) {
    ADD_FAILURE() << "no asynchronous event came";
    return false;
  }
  if (ibv_get_async_event(context, &event) != 0) {
    ADD_FAILURE() << "ibv_get_async_event: " << std::strerror(errno);
    return false;
  }
  ibv_ack_async_event(&event);
  return true;
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::sched_yield();
  }
  return true;
}

ibv_wc next_completion(ibv_cq* cq) {
  ibv_wc completion{};
  int polled = 0;
  const bool came = eventually([&] {
    polled = ibv_poll_cq(cq, 1, &completion);
    return polled != 0;
  });
  if (came && polled == 1) return completion;
  ADD_FAILURE() << (came ? "ibv_poll_cq failed" : "no completion came");
  completion.status = IBV_WC_GENERAL_ERR;
  return completion;
}

ibv_wc expect_completion(ibv_cq* cq, uint64_t id, ibv_wc_status status) {
  const ibv_wc completion = next_completion(cq);
  EXPECT_EQ(completion.wr_id, id);
  EXPECT_EQ(completion.status, status)
      << ibv_wc_status_str(completion.status) << ", expected " << ibv_wc_status_str(status);
  return completion;
}

void expect_empty(ibv_cq* cq) {
  ibv_wc completion{};
  EXPECT_EQ(ibv_poll_cq(cq, 1, &completion), 0)
      << "wr_id " << completion.wr_id << ": " << ibv_wc_status_str(completion.status);
}

bool readable(int fd, std::chrono::milliseconds wait) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(wait.count())) == 1;
}

ibv_async_event expect_event(ibv_context* context, ibv_event_type type) {
  ibv_async_event event{};
  if (!take_event(context, event)) return event;
  EXPECT_EQ(event.event_type, type)
      << ibv_event_type_str(event.event_type) << ", expected " << ibv_event_type_str(type);
  return event;
}

ibv_async_event await_event(ibv_context* context, ibv_event_type type) {
  ibv_async_event event{};
  while (take_event(context, event) && event.event_type != type) {
  }
  return event;
}

void expect_no_event(ibv_context* context) {
  EXPECT_FALSE(readable(context->async_fd, std::chrono::milliseconds{0}));
}

}  // namespace conformance
