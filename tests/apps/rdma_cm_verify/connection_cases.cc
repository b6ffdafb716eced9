// SPDX-License-Identifier: BSD-2-Clause
// How connections begin and end.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr int kInvalidServiceId = 8;  // IBTA vol. 1, 12.6.7.2

// --- Endpoints without an event channel.

void serve_endpoint(const Place& place) {
  const AddressInfo info(place, true);
  ibv_qp_init_attr attributes = queue_pair_attributes();
  rdma_cm_id* listener = nullptr;
  need(rdma_create_ep(&listener, info.get(), nullptr, &attributes), "rdma_create_ep");
  need(rdma_listen(listener, 0), "rdma_listen");
  say("ready");
  rdma_cm_id* id = nullptr;
  need(rdma_get_request(listener, &id), "rdma_get_request");
  expect(ntohs(rdma_get_src_port(id)) == std::atoi(place.service.c_str()), "our port");
  {
    Messages messages(id);
    messages.post_receive();
    need(rdma_accept(id, nullptr), "rdma_accept");
    messages.receive(1);
    messages.send(2);
    need(rdma_disconnect(id), "rdma_disconnect");
  }
  rdma_destroy_ep(id);
  rdma_destroy_ep(listener);
}

void call_endpoint(const Place& place) {
  const AddressInfo info(place, false);
  ibv_qp_init_attr attributes = queue_pair_attributes();
  rdma_cm_id* id = nullptr;
  need(rdma_create_ep(&id, info.get(), nullptr, &attributes), "rdma_create_ep");
  {
    Messages messages(id);
    messages.post_receive();
    need(rdma_connect(id, nullptr), "rdma_connect");
    expect(ntohs(rdma_get_dst_port(id)) == std::atoi(place.service.c_str()), "the server's port");
    expect(rdma_get_src_port(id) != 0, "a port of our own");
    messages.send(1);
    messages.receive(2);
    need(rdma_disconnect(id), "rdma_disconnect");
  }
  rdma_destroy_ep(id);
}

// --- By events; either side ends it.

/// The server's id, when connected.
rdma_cm_id* accept_one(Channel& channel, rdma_cm_id* listener) {
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  expect(request.listener == listener, "the listener's request");
  expect(request.connection.responder_resources == 2 && request.connection.initiator_depth == 2,
         "the client's resources");
  create_qp(request.id);
  return request.id;
}

void serve(const Place& place, bool disconnects) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  rdma_cm_id* id = accept_one(channel, listener);
  {
    Messages messages(id);
    messages.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_accept(id, &connection), "rdma_accept");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    messages.receive(1);
    messages.send(2);
    messages.post_receive();
    if (disconnects) need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
    if (!disconnects) need(rdma_disconnect(id), "rdma_disconnect");
    expect(messages.wait_receive().status == IBV_WC_WR_FLUSH_ERR, "the receive to be flushed");
  }
  destroy(id);
  destroy(listener);
}

void call(const Place& place, bool disconnects) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  {
    Messages messages(id);
    messages.post_receive();
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    messages.send(1);
    messages.receive(2);
    messages.post_receive();
    if (disconnects) need(rdma_disconnect(id), "rdma_disconnect");
    channel.expect(RDMA_CM_EVENT_DISCONNECTED);
    if (!disconnects) need(rdma_disconnect(id), "rdma_disconnect");
    expect(messages.wait_receive().status == IBV_WC_WR_FLUSH_ERR, "the receive to be flushed");
  }
  destroy(id);
}

// --- No connection.

void serve_rejecting(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  const auto data = pattern(148, 5);
  need_errno(rdma_reject(request.id, pattern(149, 5).data(), 149), EINVAL, "too long a rejection");
  need(rdma_reject(request.id, data.data(), 148), "rdma_reject");
  destroy(request.id);
  // Destroyed without an answer: rejected too.
  const Event other = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  destroy(other.id);
  destroy(listener);
}

void call_rejected(const Place& place) {
  Channel channel;
  for (int attempt = 0; attempt < 2; ++attempt) {
    rdma_cm_id* id = resolve(channel, place);
    create_qp(id);
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    const Event event = channel.expect(RDMA_CM_EVENT_REJECTED, kConsumerReject);
    if (attempt == 0) expect_pattern(event.private_data, 148, 5);
    destroy(id);
  }
}

void call_nobody(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_REJECTED, kInvalidServiceId);
  destroy(id);
}

// --- Ports.

void hold_port(const Place& place) {
  const Channel channel;
  listen(channel, place);
  for (;;) pause();
}

int bind_to(const Channel& channel, sockaddr* address) {
  rdma_cm_id* id = create_id(channel);
  const int result = rdma_bind_addr(id, address);
  const int saved = errno;
  destroy(id);
  errno = saved;
  return result;
}

void find_port_held(const Place& place) {
  const Channel channel;
  const AddressInfo info(place, true);
  need_errno(bind_to(channel, info.address()), EADDRINUSE, "a second listener");
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(std::atoi(place.service.c_str())));
  need_errno(bind_to(channel, reinterpret_cast<sockaddr*>(&any)), EADDRINUSE,
             "a listener on all addresses");
  any.sin_port = 0;
  need(bind_to(channel, reinterpret_cast<sockaddr*>(&any)), "any port");
}

void find_port_free(const Place& place) {
  const Channel channel;
  destroy(listen(channel, place));
  // And at once again.
  destroy(listen(channel, place));
}

// --- Channels that do not block.

void make_nonblocking(const Channel& channel) {
  need(fcntl(channel.get()->fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
  rdma_cm_event* none = nullptr;
  need_errno(rdma_get_cm_event(channel.get(), &none), EAGAIN, "an event");
}

class Poller {
 public:
  explicit Poller(Channel& channel) : channel_(channel), fd_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event interest{};
    interest.events = EPOLLIN;
    need(epoll_ctl(fd_, EPOLL_CTL_ADD, channel.get()->fd, &interest), "epoll_ctl");
    make_nonblocking(channel);
  }
  ~Poller() { close(fd_); }
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  Event expect_event(rdma_cm_event_type type) {
    epoll_event ready{};
    while (epoll_wait(fd_, &ready, 1, -1) < 0 && errno == EINTR) {
    }
    return channel_.expect(type);
  }
  void expect_quiet() const {
    epoll_event ready{};
    expect(epoll_wait(fd_, &ready, 1, 0) == 0, "no more events");
    rdma_cm_event* none = nullptr;
    need_errno(rdma_get_cm_event(channel_.get(), &none), EAGAIN, "an event");
  }

 private:
  Channel& channel_;
  int fd_;
};

void serve_polling(const Place& place) {
  Channel channel;
  Poller poller(channel);
  rdma_cm_id* listener = listen(channel, place);
  const Event request = poller.expect_event(RDMA_CM_EVENT_CONNECT_REQUEST);
  poller.expect_quiet();
  create_qp(request.id);
  rdma_conn_param connection = parameters();
  need(rdma_accept(request.id, &connection), "rdma_accept");
  poller.expect_event(RDMA_CM_EVENT_ESTABLISHED);
  poller.expect_event(RDMA_CM_EVENT_DISCONNECTED);
  destroy(request.id);
  destroy(listener);
}

void call_polling(const Place& place) {
  Channel channel;
  Poller poller(channel);
  const AddressInfo info(place, false);
  rdma_cm_id* id = create_id(channel);
  need(rdma_resolve_addr(id, nullptr, info.address(), 5000), "rdma_resolve_addr");
  poller.expect_event(RDMA_CM_EVENT_ADDR_RESOLVED);
  need(rdma_resolve_route(id, 5000), "rdma_resolve_route");
  poller.expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  poller.expect_event(RDMA_CM_EVENT_ESTABLISHED);
  poller.expect_quiet();
  need(rdma_disconnect(id), "rdma_disconnect");
  poller.expect_event(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

// --- Ids that move to another channel.

void wait_readable(const Channel& channel) {
  pollfd ready{channel.get()->fd, POLLIN, 0};
  while (poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
}

void serve_migrating(const Place& place) {
  Channel listeners;
  Channel connections;
  rdma_cm_id* listener = listen(listeners, place);
  rdma_cm_id* id = accept_one(listeners, listener);
  need(rdma_migrate_id(id, connections.get()), "rdma_migrate_id");
  rdma_conn_param connection = parameters();
  {
    Messages messages(id);
    messages.post_receive();
    need(rdma_accept(id, &connection), "rdma_accept");
    connections.expect(RDMA_CM_EVENT_ESTABLISHED);
    messages.receive(1);
    need(rdma_disconnect(id), "rdma_disconnect");
    connections.expect(RDMA_CM_EVENT_DISCONNECTED);
  }
  destroy(id);
  destroy(listener);
}

void call_migrating(const Place& place) {
  Channel first;
  Channel second;
  Channel third;
  rdma_cm_id* id = resolve(first, place);
  create_qp(id);
  need(rdma_migrate_id(id, second.get()), "rdma_migrate_id");
  expect(id->channel == second.get(), "the second channel");
  rdma_conn_param connection = parameters();
  {
    Messages messages(id);
    need(rdma_connect(id, &connection), "rdma_connect");
    second.expect(RDMA_CM_EVENT_ESTABLISHED);
    messages.send(1);
  }
  // The event waits on the second channel, and moves with the id.
  wait_readable(second);
  need(rdma_migrate_id(id, third.get()), "rdma_migrate_id");
  pollfd quiet{second.get()->fd, POLLIN, 0};
  expect(poll(&quiet, 1, 0) == 0, "nothing on the channel that the id has left");
  third.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

// --- A peer that is killed.

void serve_until_killed(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  rdma_cm_id* id = accept_one(channel, listener);
  rdma_conn_param connection = parameters();
  need(rdma_accept(id, &connection), "rdma_accept");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  for (;;) pause();
}

void call_killed(const Place& place) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  {
    Messages messages(id);
    rdma_conn_param connection = parameters();
    need(rdma_connect(id, &connection), "rdma_connect");
    channel.expect(RDMA_CM_EVENT_ESTABLISHED);
    say("established");
    // The server has posted no receive: it is tried for as long as there is a server.
    messages.post_send(3);
    expect(messages.wait_send().status == IBV_WC_RETRY_EXC_ERR, "the retries to be exceeded");
    need(rdma_disconnect(id), "rdma_disconnect");
    // The host may be there and say that the process is not, or nobody answers.
    const Event end = channel.next();
    expect(end.type == RDMA_CM_EVENT_DISCONNECTED, "to be disconnected");
    expect(end.status == 0 || end.status == -ETIMEDOUT || end.status == -ECONNRESET,
           "the status of a peer that is gone");
  }
  destroy(id);
}

/// Nothing is sent: the peer is found to be gone.
void call_killed_idle(const Place& place, int status) {
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  say("established");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED, status);
  destroy(id);
}

// --- A peer that is stopped for a while.

void serve_stopped(const Place& place) {
  Channel channel;
  rdma_cm_id* listener = listen(channel, place);
  rdma_cm_id* id = accept_one(channel, listener);
  rdma_conn_param connection = parameters();
  need(rdma_accept(id, &connection), "rdma_accept");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
  destroy(listener);
}

/// Whoever drives the test says by SIGUSR1 that the server goes on.
void call_stopped(const Place& place) {
  sigset_t continued;
  sigemptyset(&continued);
  sigaddset(&continued, SIGUSR1);
  need(sigprocmask(SIG_BLOCK, &continued, nullptr), "sigprocmask");
  Channel channel;
  rdma_cm_id* id = resolve(channel, place);
  create_qp(id);
  rdma_conn_param connection = parameters();
  need(rdma_connect(id, &connection), "rdma_connect");
  channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  say("established");
  int signal = 0;
  expect(sigwait(&continued, &signal) == 0, "the server to go on");
  pollfd quiet{channel.get()->fd, POLLIN, 0};
  expect(poll(&quiet, 1, 0) == 0, "no event while the server is stopped");
  need(rdma_disconnect(id), "rdma_disconnect");
  channel.expect(RDMA_CM_EVENT_DISCONNECTED);
  destroy(id);
}

}  // namespace

const std::vector<Case> kConnectionCases = {
    {"endpoint", serve_endpoint, call_endpoint},
    {"client_disconnects", [](const Place& place) { serve(place, false); },
     [](const Place& place) { call(place, true); }},
    {"server_disconnects", [](const Place& place) { serve(place, true); },
     [](const Place& place) { call(place, false); }},
    {"reject", serve_rejecting, call_rejected},
    {"nobody", nullptr, call_nobody},
    {"port_held", hold_port, find_port_held},
    {"port_free", nullptr, find_port_free},
    {"nonblocking", serve_polling, call_polling},
    {"migrate", serve_migrating, call_migrating},
    {"killed", serve_until_killed, call_killed},
    {"killed_idle", serve_until_killed,
     [](const Place& place) { call_killed_idle(place, -ECONNRESET); }},
    {"killed_alone", serve_until_killed,
     [](const Place& place) { call_killed_idle(place, -ECONNRESET); }},
    {"killed_silent", serve_until_killed,
     [](const Place& place) { call_killed_idle(place, -ETIMEDOUT); }},
    {"stopped", serve_stopped, call_stopped},
};

}  // namespace verify
