// SPDX-License-Identifier: BSD-2-Clause
#include "tests/apps/rdma_cm_listener/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/apps/rdma_cm_listener/ids.h"

namespace urxe::test {
namespace {

/// All descriptors that the process may still have, but so many.
class Hoard {
 public:
  explicit Hoard(size_t spare) {
    for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
      held_.push_back(fd);
    }
    for (; spare > 0 && !held_.empty(); --spare) {
      close(held_.back());
      held_.pop_back();
    }
  }
  ~Hoard() {
    for (int fd : held_) close(fd);
  }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

 private:
  std::vector<int> held_;
};

}  // namespace

void listen_with_few_descriptors(const char* node) {
  const Channel channel;
  // The library opens the devices by itself, and says ENODEV where it cannot.
  check(rdma_get_devices(nullptr) != nullptr, "rdma_get_devices");
  sockaddr* const address = look_up(node, "0")->ai_addr;
  bool listens = false;
  for (size_t spare = 0; !listens; ++spare) {
    rdma_cm_id* id = nullptr;
    check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
    bool bound = false;
    int why = 0;
    {
      const Hoard hoard(spare);
      bound = rdma_bind_addr(id, address) == 0;
      listens = bound && rdma_listen(id, kBacklog) == 0;
      why = errno;
    }
    std::printf("%zu: %s %s\n", spare, bound ? "listen" : "bind",
                listens ? "OK" : strerrorname_np(why));
    check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  }
}

void wait_without_descriptors(const char* node) {
  constexpr int kTimeoutMs = 5000;
  constexpr std::chrono::milliseconds kUntilItWaits{100};
  const Channel channel;
  rdma_cm_id* id = nullptr;
  check(rdma_create_id(channel.channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  sockaddr* const address = look_up(node, "7471")->ai_addr;
  check(rdma_resolve_addr(id, nullptr, address, kTimeoutMs) == 0, "rdma_resolve_addr");
  check(channel.next().type == RDMA_CM_EVENT_ADDR_RESOLVED, "ADDR_RESOLVED");
  const Hoard hoard(0);
  std::thread later([&] {
    std::this_thread::sleep_for(kUntilItWaits);
    check(rdma_resolve_route(id, kTimeoutMs) == 0, "rdma_resolve_route");
  });
  check(channel.next().type == RDMA_CM_EVENT_ROUTE_RESOLVED, "ROUTE_RESOLVED");
  later.join();
  check(fcntl(channel.channel->fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
  rdma_cm_event* event = nullptr;
  check(rdma_get_cm_event(channel.channel, &event) == -1 && errno == EAGAIN, "EAGAIN");
  check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

}  // namespace urxe::test
