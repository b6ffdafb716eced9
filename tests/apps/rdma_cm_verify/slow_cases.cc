// SPDX-License-Identifier: BSD-2-Clause
// Servers that do nothing until they are signalled (SIGUSR1).
#include <csignal>
#include <cstddef>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

/// To be made before anything else, so that all threads block the signal.
class Signal {
 public:
  Signal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
  }
  void wait() const {
    int number = 0;
    while (sigwait(&set_, &number) != 0) {
    }
  }

 private:
  sigset_t set_{};
};

// --- A server that takes its time to accept: the client's retries must not end before.

void serve_slowly(const Place& place) {
  const Signal signal;
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  say("request");
  signal.wait();
  create_qp(request.id);
  {
    Messages messages(request.id);
    messages.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_accept(request.id, &connection), "rdma_accept");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    messages.receive(1);
  }
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(request.id);
  destroy(listener);
}

void call_patiently(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  {
    Messages messages(id);
    messages.send(1);
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
}

// --- A listener with room for one request, which it does not take at first.

/// Accepts whoever comes, until it is killed.
void serve_with_room_for_one(const Place& place) {
  const Signal signal;
  Channel channel;
  listen(channel, place, RDMA_PS_TCP, 1);
  signal.wait();
  for (;;) {
    const Event event = channel.next();
    if (event.type == RDMA_CM_EVENT_DISCONNECTED) destroy(event.id);
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    create_qp(event.id);
    rdma_conn_param connection = parameters();
    need(rdma_accept(event.id, &connection), "rdma_accept");
  }
}

/// Says "established" or "rejected STATUS" of both.
void call_twice(const Place& place) {
  Channel channel;
  rdma_cm_id* ids[] = {resolve(channel, place), resolve(channel, place)};
  for (rdma_cm_id* id : ids) {
    create_qp(id);
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
  }
  std::vector<rdma_cm_id*> established;
  for ([[maybe_unused]] rdma_cm_id* id : ids) {
    const Event event = channel.next();
    if (event.type == RDMA_CM_EVENT_REJECTED) {
      say("rejected " + std::to_string(event.status));
      continue;
    }
    expect(event.type == RDMA_CM_EVENT_ESTABLISHED, "to be established or rejected");
    say("established");
    established.push_back(event.id);
  }
  for (rdma_cm_id* id : established) {
    need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  for (rdma_cm_id* id : ids) destroy(id);
}

}  // namespace

const std::vector<Case> kSlowCases = {
    {"slow_accept", serve_slowly, call_patiently},
    {"backlog", serve_with_room_for_one, call_twice},
};

}  // namespace verify
