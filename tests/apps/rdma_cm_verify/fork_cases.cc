// SPDX-License-Identifier: BSD-2-Clause
// Programs that fork while they have ids and connections.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

/// A child that waits until it is told to go on, runs `then`, and ends with its exit handlers.
class Child {
 public:
  explicit Child(const std::function<void()>& then) {
    int ends[2];
    need(pipe(ends), "pipe");
    pid_ = fork();
    expect(pid_ >= 0, "a child");
    if (pid_ == 0) {
      char byte = 0;
      while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
      }
      then();
      std::exit(0);
    }
    close(ends[0]);
    go_on_ = ends[1];
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Lets it go on, and waits for its end.
  void end() {
    if (pid_ == 0) return;
    expect(write(go_on_, "", 1) == 1, "to tell the child");
    close(go_on_);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child to end well");
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int go_on_ = -1;
};

/// Each connection gets an answer for each of so many messages.
void serve_many(const Place& place, int connections, int messages_each) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  for (; connections > 0; --connections) {
    const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    create_qp(request.id);
    {
      Messages messages(request.id);
      messages.post_receive();
      rdma_conn_param connection = parameters();
      need(rdma_accept(request.id, &connection), "rdma_accept");
      channel.expect(RDMA_CM_EVENT_ESTABLISHED);
      for (int i = 0; i < messages_each; ++i) {
        messages.receive(61);
        messages.post_receive();
        messages.send(62);
      }
      channel.expect(RDMA_CM_EVENT_DISCONNECTED);
    }
    destroy(request.id);
  }
  destroy(listener);
}

void exchange(Messages& messages) {
  messages.post_receive();
  messages.send(61);
  messages.receive(62);
}

void connect(Channel& channel, rdma_cm_id* id) {
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
}

void disconnect(Channel& channel, rdma_cm_id* id) {
  need(rdma_disconnect(id), "rdma_disconnect");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
}

void need_fork_support() {
  expect(ibv_fork_init() == 0, "ibv_fork_init");
}

/// A whole connection, of a process that has none so far.
void call_once(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  {
    Messages messages(id);
    connect(channel, id);
    exchange(messages);
    disconnect(channel, id);
  }
  destroy(id);
}

/// Forks between any two steps; none of the children touches anything, and each ends in another.
void call_with_idle_children(const Place& place) {
  need_fork_support();
  const auto nothing = [] {};
  Channel channel;
  Child first(nothing);
  rdma_cm_id* id = resolve(channel, place);
  Child second(nothing);
  create_qp(id);
  first.end();
  {
    Messages messages(id);
    Child third(nothing);
    connect(channel, id);
    second.end();
    exchange(messages);
    Child fourth(nothing);
    third.end();
    exchange(messages);
    fourth.end();
    exchange(messages);
    disconnect(channel, id);
  }
  destroy(id);
}

/// What is the parent's the child cannot use, and does not harm.
void call_with_meddling_child(const Place& place) {
  need_fork_support();
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  {
    Messages messages(id);
    connect(channel, id);
    exchange(messages);
    Child child([&] {
      expect(rdma_disconnect(id) != 0, "the child not to disconnect its parent");
      rdma_cm_id* own = nullptr;
      expect(rdma_create_id(channel.get(), &own, nullptr, RDMA_PS_TCP) != 0,
             "no id on the parent's channel");
    });
    child.end();
    exchange(messages);
    disconnect(channel, id);
  }
  destroy(id);
}

/// Makes an event channel and a region beside it, and destroys both.
void make_channel(ibv_pd* pd) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  expect(channel != nullptr, "rdma_create_event_channel");
  std::vector<char> block(300);
  ibv_mr* const region = ibv_reg_mr(pd, block.data(), block.size(), IBV_ACCESS_LOCAL_WRITE);
  expect(region != nullptr, "ibv_reg_mr");
  rdma_destroy_event_channel(channel);
  expect(ibv_dereg_mr(region) == 0, "ibv_dereg_mr");
}

/// Forks a child that exits at once, and expects its end within twenty seconds.
void fork_once() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 2000 && ended == 0; ++i) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) usleep(10000);
  }
  if (ended == 0) kill(child, SIGKILL);
  expect(ended == child && status == 0, "the child to end");
}

/// Forks while another thread makes and destroys event channels. The child frees the parent's
/// within fork(), and they may share a page with a region.
void call_while_forking(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  {
    Messages messages(id);
    connect(channel, id);
    std::atomic<bool> ends{false};
    std::thread maker([&] {
      while (!ends.load()) make_channel(id->pd);
    });
    for (int i = 0; i < 100; ++i) fork_once();
    ends.store(true);
    maker.join();
    exchange(messages);
    disconnect(channel, id);
  }
  destroy(id);
}

/// Both processes have a connection of their own; librdmacm has been used by neither before.
void call_from_both(const Place& place) {
  need_fork_support();
  Child child([&] { call_once(place); });
  child.end();
  call_once(place);
}

}  // namespace

const std::vector<Case> kForkCases = {
    {"fork_idle", [](const Place& place) { serve_many(place, 1, 3); }, call_with_idle_children},
    {"fork_meddling", [](const Place& place) { serve_many(place, 1, 2); },
     call_with_meddling_child},
    {"fork_beside_channels", [](const Place& place) { serve_many(place, 1, 1); },
     call_while_forking},
    {"fork_both", [](const Place& place) { serve_many(place, 2, 1); }, call_from_both},
};

}  // namespace verify
