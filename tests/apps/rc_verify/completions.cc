// SPDX-License-Identifier: BSD-2-Clause
#include "completions.h"

#include <poll.h>
#include <sched.h>

#include <array>

#include "failure.h"

namespace rc_verify {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollsBeforeYield = 2000;
constexpr int kLookAroundMs = 100;

}  // namespace

bool Completions::take_from(ibv_cq* queue, bool receive, const Handler& handler) {
  std::array<ibv_wc, 16> entries;
  const int n = ibv_poll_cq(queue, static_cast<int>(entries.size()), entries.data());
  if (n < 0) mismatch(format("ibv_poll_cq returned %d", n));
  for (int i = 0; i < n; ++i) handler(entries[static_cast<size_t>(i)], receive);
  return n > 0;
}

bool Completions::take(const Handler& handler) {
  const bool received = take_from(endpoint_.receive_cq(), true, handler);
  const bool sent = take_from(endpoint_.send_cq(), false, handler);
  return received || sent;
}

void Completions::arm() {
  for (ibv_cq* queue : {endpoint_.send_cq(), endpoint_.receive_cq()}) {
    if (ibv_req_notify_cq(queue, 0) != 0) system_failed("ibv_req_notify_cq");
  }
}

void Completions::check_stall(Clock::time_point start,
                              const std::function<std::string()>& waiting_for) const {
  if (control_.peer_gone(0)) peer_lost("the peer ended while we waited for " + waiting_for());
  if (Clock::now() - start > std::chrono::seconds(test_.stall_seconds))
    mismatch(format("nothing came in %u s: ", test_.stall_seconds) + waiting_for());
}

ibv_cq* Completions::next_event(const std::function<std::string()>& waiting_for) {
  const auto start = Clock::now();
  pollfd ready{endpoint_.channel()->fd, POLLIN, 0};
  while (::poll(&ready, 1, kLookAroundMs) <= 0) check_stall(start, waiting_for);
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(endpoint_.channel(), &queue, &context) != 0)
    system_failed("ibv_get_cq_event");
  if (queue != endpoint_.send_cq() && queue != endpoint_.receive_cq())
    mismatch("ibv_get_cq_event gave a completion queue that is not ours");
  ibv_ack_cq_events(queue, 1);
  return queue;
}

void Completions::wait(const Handler& handler, const std::function<std::string()>& waiting_for) {
  const auto start = Clock::now();
  for (int polls = 1; !take(handler); ++polls) {
    if (test_.events != 0) {
      arm();
      // What came before the queues were armed makes no event.
      if (take(handler)) return;
      next_event(waiting_for);
    } else if (polls % kPollsBeforeYield == 0) {
      check_stall(start, waiting_for);
      ::sched_yield();
    }
  }
}

}  // namespace rc_verify
