// SPDX-License-Identifier: BSD-2-Clause
// Many connections through librdmacm, without queue pairs: what is tried is who is told what.
//
//   server SERVICE CONNECTIONS    accepts so many
//   client NODE SERVICE CONNECTIONS AT_ONCE
//
// A client says how many were established and how many rejected or unreachable.
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kResolveTimeoutMs = 20000;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

void check(int result, const char* what) {
  if (result != 0) die(what);
}

rdma_event_channel* make_channel() {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr) die("rdma_create_event_channel");
  return channel;
}

/// Each connection has a number in the place of its queue pair's, as no two may have the same.
rdma_conn_param parameters_for(uint32_t number) {
  rdma_conn_param parameters{};
  parameters.qp_num = number & 0xffffff;
  parameters.retry_count = 7;
  parameters.rnr_retry_count = 7;
  return parameters;
}

struct Tally {
  int established = 0;
  int rejected = 0;
  int unreachable = 0;
  int disconnected = 0;
  [[nodiscard]] int ended() const { return rejected + unreachable + disconnected; }
};

class Server {
 public:
  Server(const char* service, int connections) : connections_(connections) {
    rdma_cm_id* listener = nullptr;
    check(rdma_create_id(channel_, &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(std::atoi(service)));
    check(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&any)), "rdma_bind_addr");
    check(rdma_listen(listener, 0), "rdma_listen");
    std::puts("ready");
    std::fflush(stdout);
  }

  void run() {
    while (tally_.ended() < connections_) {
      rdma_cm_event* event = nullptr;
      check(rdma_get_cm_event(channel_, &event), "rdma_get_cm_event");
      rdma_cm_id* done = handle(*event);
      rdma_ack_cm_event(event);
      if (done != nullptr) check(rdma_destroy_id(done), "rdma_destroy_id");
    }
    std::printf("established %d\n", tally_.established);
  }

 private:
  rdma_cm_id* handle(const rdma_cm_event& event) {
    switch (event.event) {
      case RDMA_CM_EVENT_CONNECT_REQUEST: {
        rdma_conn_param parameters = parameters_for(0x800000U + ++accepted_);
        check(rdma_accept(event.id, &parameters), "rdma_accept");
        return nullptr;
      }
      case RDMA_CM_EVENT_ESTABLISHED:
        ++tally_.established;
        return nullptr;
      case RDMA_CM_EVENT_DISCONNECTED:
        ++tally_.disconnected;
        return event.id;
      case RDMA_CM_EVENT_UNREACHABLE:
        ++tally_.unreachable;
        return event.id;
      case RDMA_CM_EVENT_REJECTED:
        ++tally_.rejected;
        return event.id;
      default:
        return nullptr;
    }
  }

  rdma_event_channel* channel_ = make_channel();
  const int connections_;
  uint32_t accepted_ = 0;
  Tally tally_;
};

class Client {
 public:
  Client(const char* node, const char* service, int connections, int at_once)
      : connections_(connections), at_once_(at_once) {
    if (getaddrinfo(node, service, nullptr, &destination_) != 0) die("getaddrinfo");
  }

  void run() {
    while (started_ < at_once_ && started_ < connections_) start();
    while (tally_.ended() < connections_) {
      rdma_cm_event* event = nullptr;
      check(rdma_get_cm_event(channel_, &event), "rdma_get_cm_event");
      rdma_cm_id* done = handle(*event);
      rdma_ack_cm_event(event);
      if (done == nullptr) continue;
      check(rdma_destroy_id(done), "rdma_destroy_id");
      if (started_ < connections_) start();
    }
    std::printf("established %d rejected %d unreachable %d\n", tally_.established, tally_.rejected,
                tally_.unreachable);
  }

 private:
  void start() {
    rdma_cm_id* id = nullptr;
    check(rdma_create_id(channel_, &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
    check(rdma_resolve_addr(id, nullptr, destination_->ai_addr, kResolveTimeoutMs),
          "rdma_resolve_addr");
    ++started_;
  }

  rdma_cm_id* handle(const rdma_cm_event& event) {
    switch (event.event) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        check(rdma_resolve_route(event.id, kResolveTimeoutMs), "rdma_resolve_route");
        return nullptr;
      case RDMA_CM_EVENT_ROUTE_RESOLVED: {
        rdma_conn_param parameters = parameters_for(++numbers_);
        check(rdma_connect(event.id, &parameters), "rdma_connect");
        return nullptr;
      }
      case RDMA_CM_EVENT_CONNECT_RESPONSE:
        check(rdma_establish(event.id), "rdma_establish");
        ++tally_.established;
        check(rdma_disconnect(event.id), "rdma_disconnect");
        return nullptr;
      case RDMA_CM_EVENT_DISCONNECTED:
        ++tally_.disconnected;
        return event.id;
      case RDMA_CM_EVENT_REJECTED:
        ++tally_.rejected;
        return event.id;
      case RDMA_CM_EVENT_UNREACHABLE:
        ++tally_.unreachable;
        return event.id;
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return nullptr;
      default:
        std::fprintf(stderr, "%s, status %d\n", rdma_event_str(event.event), event.status);
        std::exit(1);
    }
  }

  rdma_event_channel* channel_ = make_channel();
  addrinfo* destination_ = nullptr;
  const int connections_;
  const int at_once_;
  int started_ = 0;
  uint32_t numbers_ = 0;
  Tally tally_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string side = argc > 1 ? argv[1] : "";
  if (side == "server" && argc == 4) {
    Server(argv[2], std::atoi(argv[3])).run();
  } else if (side == "client" && argc == 6) {
    Client(argv[2], argv[3], std::atoi(argv[4]), std::atoi(argv[5])).run();
  } else {
    std::fprintf(stderr,
                 "usage: %s server SERVICE CONNECTIONS | client NODE SERVICE CONNECTIONS AT_ONCE\n",
                 argv[0]);
    return 2;
  }
  return 0;
}
