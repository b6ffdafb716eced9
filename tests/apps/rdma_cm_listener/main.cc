// SPDX-License-Identifier: BSD-2-Clause
// A listener and those who connect to it, in one process: who is told what where the listener has
// no room, goes away, or the process ends.
//
//   overflow NODE    more connect than the backlog has room for
//   destroyed NODE   the listener is destroyed with requests that it has not read
//   exits NODE       prints its port, waits for a request, does not read it, and exits
//   listens NODE     prints its port, and the next event
//   connect NODE PORT    connects and prints the event that comes
//   ids COUNT        so many ids at a time
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kBacklog = 4;
constexpr int kTimeoutMs = 20000;

void check(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

struct Channel {
  Channel() : channel(rdma_create_event_channel()) { check(channel != nullptr, "channel"); }
  rdma_event_channel* channel;

  struct Event {
    rdma_cm_event_type type;
    int status;
    rdma_cm_id* id;
  };
  Event next() const {
    rdma_cm_event* event = nullptr;
    check(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
    const Event copy{event->event, event->status, event->id};
    rdma_ack_cm_event(event);
    return copy;
  }
};

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

using Tally = std::map<std::pair<rdma_cm_event_type, int>, int>;

Tally take(const Channel& channel, int count) {
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const Channel::Event event = channel.next();
    ++tally[{event.type, event.status}];
  }
  return tally;
}

/// Connects them one after another; the answers come later.
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

void overflow(const char* node) {
  constexpr int kMore = 6;
  constexpr int kNoResources = 3;
  const Channel server;
  const Channel client;
  rdma_cm_id* listener = make_listener(server, node);
  (void)start_many(client, node, ntohs(rdma_get_src_port(listener)), kBacklog + kMore);
  const Tally refused = take(client, kMore);
  check(refused == Tally{{{RDMA_CM_EVENT_REJECTED, kNoResources}, kMore}}, "those beyond it");
  for (int i = 0; i < kBacklog; ++i) {
    const Channel::Event request = server.next();
    check(request.type == RDMA_CM_EVENT_CONNECT_REQUEST, "CONNECT_REQUEST");
    rdma_conn_param parameters = numbered();
    check(rdma_accept(request.id, &parameters) == 0, "rdma_accept");
  }
  const Tally accepted = take(client, kBacklog);
  check(accepted == Tally{{{RDMA_CM_EVENT_CONNECT_RESPONSE, 0}, kBacklog}}, "those within it");
}

void destroyed(const char* node) {
  constexpr int kConsumer = 28;
  const Channel server;
  const Channel client;
  rdma_cm_id* listener = make_listener(server, node);
  const uint16_t port = ntohs(rdma_get_src_port(listener));
  (void)start_many(client, node, port, kBacklog + 1);
  (void)take(client, 1);  // all have arrived once the one too many is refused
  check(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
  const Tally told = take(client, kBacklog);
  check(told == Tally{{{RDMA_CM_EVENT_REJECTED, kConsumer}, kBacklog}}, "REJECTED");
}

/// Returns, and so lets the process exit, once a request waits that nobody has read.
void exits(const char* node) {
  const Channel server;
  rdma_cm_id* listener = make_listener(server, node);
  std::printf("port %u\n", ntohs(rdma_get_src_port(listener)));
  std::fflush(stdout);
  pollfd waiting{server.channel->fd, POLLIN, 0};
  check(poll(&waiting, 1, -1) == 1, "poll");
}

void listens(const char* node) {
  const Channel server;
  rdma_cm_id* listener = make_listener(server, node);
  std::printf("port %u\n", ntohs(rdma_get_src_port(listener)));
  std::fflush(stdout);
  const Channel::Event event = server.next();
  std::printf("%s %d\n", rdma_event_str(event.type), event.status);
  check(event.id == listener, "the listener");
  check(rdma_listen(listener, 1) != 0, "the id is of no more use");
  check(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
}

void connect_once(const char* node, const char* port) {
  const Channel client;
  (void)start_many(client, node, static_cast<uint16_t>(std::atoi(port)), 1);
  const Channel::Event answer = client.next();
  std::printf("%s %d\n", rdma_event_str(answer.type), answer.status);
}

void many_ids(int count) {
  const Channel channel;
  std::vector<rdma_cm_id*> ids(static_cast<size_t>(count));
  for (rdma_cm_id*& id : ids) {
    check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  }
  for (rdma_cm_id* id : ids) check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  if (part == "overflow" && argc == 3) {
    overflow(argv[2]);
  } else if (part == "destroyed" && argc == 3) {
    destroyed(argv[2]);
  } else if (part == "exits" && argc == 3) {
    exits(argv[2]);
  } else if (part == "listens" && argc == 3) {
    listens(argv[2]);
  } else if (part == "connect" && argc == 4) {
    connect_once(argv[2], argv[3]);
  } else if (part == "ids" && argc == 3) {
    many_ids(std::atoi(argv[2]));
  } else {
    std::fprintf(
        stderr, "usage: %s overflow|destroyed|exits|listens NODE | connect NODE PORT | ids COUNT\n",
        argv[0]);
    return 2;
  }
  return 0;
}
