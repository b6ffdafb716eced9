// SPDX-License-Identifier: BSD-2-Clause
// A listener and those who connect to it, in one process: who is told what where the listener has
// no room, goes away, or the process ends.
//
//   overflow NODE    more connect than the backlog has room for
//   destroyed NODE   the listener is destroyed with requests that it has not read
//   exits NODE       prints its port, waits for a request, does not read it, and exits
//   exits_busy NODE  the same, while another thread makes and destroys ids
//   listens NODE     prints its port, and the next event
//   connect NODE PORT    connects and prints the event that comes
//   resolve NODE...  prints what comes of each
//   ids COUNT        so many ids at a time
//   many NODE COUNT  prints the ports of so many listeners, and of each request, which it rejects
//   bind NODE PORT   prints what comes of it
//   descriptors NODE listens with 0, 1, 2, ... descriptors to spare; prints what comes of it
//   waits NODE       waits for events without a descriptor to spare
#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "tests/apps/rdma_cm_listener/descriptors.h"
#include "tests/apps/rdma_cm_listener/ids.h"
#include "tests/apps/rdma_cm_listener/many.h"

namespace urxe::test {
namespace {

using Tally = std::map<std::pair<rdma_cm_event_type, int>, int>;

Tally take(const Channel& channel, int count) {
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const Channel::Event event = channel.next();
    ++tally[{event.type, event.status}];
  }
  return tally;
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

/// The thread is in some call or other when the process exits.
void exits_busy(const char* node) {
  std::thread([] {
    const Channel channel;
    for (;;) {
      rdma_cm_id* id = nullptr;
      check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
      check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
    }
  }).detach();
  exits(node);
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

/// The same id for all, one after the other.
void resolve(int count, char** nodes) {
  const Channel channel;
  rdma_cm_id* id = nullptr;
  check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  for (int i = 0; i < count; ++i) {
    const bool begun =
        rdma_resolve_addr(id, nullptr, look_up(nodes[i], "7471")->ai_addr, 2000) == 0;
    const int why = errno;
    if (begun) {
      const Channel::Event event = channel.next();
      std::printf("%s %s %d\n", nodes[i], rdma_event_str(event.type), event.status);
    } else {
      std::printf("%s %s\n", nodes[i], strerrorname_np(why));
    }
  }
}

void connect_once(const char* node, const char* port) {
  const Channel client;
  (void)start_many(client, node, static_cast<uint16_t>(std::atoi(port)), 1);
  const Channel::Event answer = client.next();
  std::printf("%s %d\n", rdma_event_str(answer.type), answer.status);
}

}  // namespace
}  // namespace urxe::test

int main(int argc, char** argv) {
  using namespace urxe::test;
  const std::string part = argc > 1 ? argv[1] : "";
  if (part == "overflow" && argc == 3) {
    overflow(argv[2]);
  } else if (part == "destroyed" && argc == 3) {
    destroyed(argv[2]);
  } else if (part == "exits" && argc == 3) {
    exits(argv[2]);
  } else if (part == "exits_busy" && argc == 3) {
    exits_busy(argv[2]);
  } else if (part == "listens" && argc == 3) {
    listens(argv[2]);
  } else if (part == "connect" && argc == 4) {
    connect_once(argv[2], argv[3]);
  } else if (part == "resolve" && argc > 2) {
    resolve(argc - 2, argv + 2);
  } else if (part == "ids" && argc == 3) {
    many_ids(std::atoi(argv[2]));
  } else if (part == "many" && argc == 4) {
    many_listeners(argv[2], std::atoi(argv[3]));
  } else if (part == "bind" && argc == 4) {
    bind_once(argv[2], argv[3]);
  } else if (part == "descriptors" && argc == 3) {
    listen_with_few_descriptors(argv[2]);
  } else if (part == "waits" && argc == 3) {
    wait_without_descriptors(argv[2]);
  } else {
    std::fprintf(stderr,
                 "usage: %s overflow|destroyed|exits|exits_busy|listens|descriptors|waits NODE | "
                 "connect|bind NODE PORT | resolve NODE... | ids COUNT | many NODE COUNT\n",
                 argv[0]);
    return 2;
  }
  return 0;
}
