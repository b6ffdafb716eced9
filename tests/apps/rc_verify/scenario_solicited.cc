// SPDX-License-Identifier: BSD-2-Clause
#include <cstdio>

#include "completions.h"
#include "failure.h"
#include "pattern.h"
#include "scenarios.h"

namespace rc_verify {
namespace {

constexpr uint32_t kRounds = 30;
constexpr uint32_t kMostUnsolicited = 6;
constexpr uint32_t kBarrierArmed = 0x501;
constexpr uint32_t kBarrierRound = 0x502;

// Messages of 0 bytes: nothing but their completions matters here.
void post_receives(Session& session, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    ibv_recv_wr request{};
    request.wr_id = i;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_recv(session.endpoint.queue_pair(0).qp.get(), &request, &bad) != 0)
      mismatch("solicited: ibv_post_recv failed");
  }
}

void send_round(Session& session, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.wr_id = i;
    const bool last = i + 1 == count;
    if (last) request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(session.endpoint.queue_pair(0).qp.get(), &request, &bad) != 0)
      mismatch("solicited: ibv_post_send failed");
  }
  Completions completions(session.endpoint, session.control, session.test);
  bool done = false;
  while (!done)
    completions.wait(
        [&](const ibv_wc& completion, bool receive) {
          if (receive || completion.status != IBV_WC_SUCCESS || completion.wr_id != count - 1)
            mismatch("solicited: a wrong send completion");
          done = true;
        },
        [] { return std::string("solicited: the send completion"); });
}

// The event is the last message's: all before it are complete when it is there.
void receive_round(Session& session, uint32_t count) {
  Completions completions(session.endpoint, session.control, session.test);
  const ibv_cq* queue = completions.next_event([] { return std::string("a solicited event"); });
  if (queue != session.endpoint.receive_cq()) mismatch("solicited: an event of the send queue");
  uint32_t received = 0;
  const auto count_one = [&](const ibv_wc& completion, bool receive) {
    if (!receive || completion.status != IBV_WC_SUCCESS || completion.wr_id != received)
      mismatch("solicited: a wrong receive completion");
    ++received;
  };
  while (completions.take(count_one)) {
  }
  if (received != count)
    mismatch(format("solicited: the event came after %u of %u messages", received, count));
}

}  // namespace

void run_solicited(Session& session) {
  // Who receives alternates by round; the sender's own queues are not armed.
  Choice choice(make_key({session.test.seed, 0x501}));
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t count = 1 + static_cast<uint32_t>(choice.below(kMostUnsolicited));
    const bool receives = (round % 2 == 0) == session.is_server;
    if (receives) {
      post_receives(session, count);
      if (ibv_req_notify_cq(session.endpoint.receive_cq(), 1) != 0)
        mismatch("solicited: ibv_req_notify_cq failed");
    }
    session.control.barrier(kBarrierArmed);
    if (receives) {
      receive_round(session, count);
    } else {
      send_round(session, count);
    }
    session.control.barrier(kBarrierRound);
  }
  if (!session.quiet) std::printf("solicited: %u rounds verified\n", kRounds);
}

}  // namespace rc_verify
