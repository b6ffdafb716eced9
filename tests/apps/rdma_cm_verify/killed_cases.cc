// SPDX-License-Identifier: BSD-2-Clause
// One side is killed, and the other one tells what it sees of that: "established", then the lines
// "retries exceeded", of a send, and "disconnected STATUS".
#include <unistd.h>

#include "tests/apps/rdma_cm_verify/support.h"

namespace verify {
namespace {

constexpr uint8_t kAckTimeout = 16;  // 0.27 s

/// Few retries, so that it does not take long to see that they are in vain.
rdma_conn_param impatient() {
  rdma_conn_param connection = parameters();
  connection.retry_count = 1;
  return connection;
}

class Server {
 public:
  explicit Server(const Place& place) : listener_(listen(channel_, place)) {
    id_ = channel_.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id;
    create_qp(id_);
    rdma_conn_param connection = impatient();
    need(rdma_accept(id_, &connection), "rdma_accept");
    channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
    say("established");
  }
  ~Server() {
    destroy(id_);
    destroy(listener_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] rdma_cm_id* id() const { return id_; }

 private:
  Channel channel_;
  rdma_cm_id* listener_;
  rdma_cm_id* id_ = nullptr;
};

class Client {
 public:
  explicit Client(const Place& place) : id_(resolve(channel_, place)) {
    uint8_t timeout = kAckTimeout;
    need(rdma_set_option(id_, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1),
         "a time-out");
    create_qp(id_);
    rdma_conn_param connection = impatient();
    need(rdma_connect(id_, &connection), "rdma_connect");
    channel_.expect(RDMA_CM_EVENT_ESTABLISHED);
    say("established");
  }
  ~Client() { destroy(id_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] Channel& channel() { return channel_; }
  [[nodiscard]] rdma_cm_id* id() const { return id_; }

 private:
  Channel channel_;
  rdma_cm_id* id_;
};

[[noreturn]] void wait_to_be_killed() {
  for (;;) pause();
}

void tell_of_the_end(Channel& channel) {
  const Event end = channel.next();
  expect(end.type == RDMA_CM_EVENT_DISCONNECTED, "to be disconnected");
  say("disconnected " + std::to_string(end.status));
}

/// The one that is killed never posts a receive: it is tried for as long as it lives.
void send_until_killed(Channel& channel, rdma_cm_id* id) {
  {
    Messages messages(id);
    messages.post_send(3);
    expect(messages.wait_send().status == IBV_WC_RETRY_EXC_ERR, "the retries to be exceeded");
  }
  say("retries exceeded");
  need(rdma_disconnect(id), "rdma_disconnect");
  tell_of_the_end(channel);
}

template <class Side>
void be_killed(const Place& place) {
  const Side side(place);
  wait_to_be_killed();
}

template <class Side>
void be_idle(const Place& place) {
  Side side(place);
  tell_of_the_end(side.channel());
}

template <class Side>
void be_sending(const Place& place) {
  Side side(place);
  send_until_killed(side.channel(), side.id());
}

}  // namespace

const std::vector<Case> kKilledCases = {
    {"server_killed_idle", be_killed<Server>, be_idle<Client>},
    {"server_killed_sending", be_killed<Server>, be_sending<Client>},
    {"client_killed_idle", be_idle<Server>, be_killed<Client>},
    {"client_killed_sending", be_sending<Server>, be_killed<Client>},
};

}  // namespace verify
