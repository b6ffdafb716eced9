// SPDX-License-Identifier: BSD-2-Clause
#include "tests/apps/rdma_cm_listener/ids.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace urxe::test {
namespace {

constexpr int kTimeoutMs = 20000;

}  // namespace

void check(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

Channel::Channel() : channel(rdma_create_event_channel()) {
  check(channel != nullptr, "channel");
}

Channel::Event Channel::next() const {
  rdma_cm_event* event = nullptr;
  check(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
  const Event copy{event->event, event->status, event->id, event->listen_id};
  rdma_ack_cm_event(event);
  return copy;
}

addrinfo* look_up(const char* node, const char* service) {
  addrinfo* found = nullptr;
  check(getaddrinfo(node, service, nullptr, &found) == 0, "getaddrinfo");
  return found;
}

rdma_conn_param numbered() {
  static uint32_t number = 0;
  rdma_conn_param parameters{};
  parameters.qp_num = (static_cast<uint32_t>(getpid()) << 8 | ++number) & 0xffffff;
  return parameters;
}

rdma_cm_id* make_listener(const Channel& channel, const char* node) {
  rdma_cm_id* listener = nullptr;
  check(rdma_create_id(channel.channel, &listener, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  check(rdma_bind_addr(listener, look_up(node, "0")->ai_addr) == 0, "rdma_bind_addr");
  check(rdma_listen(listener, kBacklog) == 0, "rdma_listen");
  return listener;
}

std::vector<rdma_cm_id*> start_many(const Channel& channel, const char* node, uint16_t port,
                                    int count) {
  const addrinfo* destination = look_up(node, std::to_string(port).c_str());
  std::vector<rdma_cm_id*> ids;
  for (int i = 0; i < count; ++i) {
    rdma_cm_id* id = nullptr;
    check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    check(rdma_resolve_addr(id, nullptr, destination->ai_addr, kTimeoutMs) == 0, "resolve_addr");
    ids.push_back(id);
  }
  for (int i = 0; i < count; ++i) {
    const Channel::Event event = channel.next();
    check(event.type == RDMA_CM_EVENT_ADDR_RESOLVED, "ADDR_RESOLVED");
    check(rdma_resolve_route(event.id, kTimeoutMs) == 0, "resolve_route");
  }
  for (int i = 0; i < count; ++i) {
    check(channel.next().type == RDMA_CM_EVENT_ROUTE_RESOLVED, "ROUTE_RESOLVED");
  }
  for (rdma_cm_id* id : ids) {
    rdma_conn_param parameters = numbered();
    check(rdma_connect(id, &parameters) == 0, "rdma_connect");
  }
  return ids;
}

}  // namespace urxe::test
