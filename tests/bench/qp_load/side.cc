// SPDX-License-Identifier: BSD-2-Clause
#include "tests/bench/qp_load/side.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <span>
#include <thread>

namespace bench {

namespace {

void send_all(int channel, const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(channel, at, bytes, MSG_NOSIGNAL);
    check(sent > 0, "the other process");
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void receive_all(int channel, void* data, size_t bytes) {
  auto* at = static_cast<uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t received = ::recv(channel, at, bytes, 0);
    if (received == 0) std::fputs("the other process has ended\n", stderr);
    check(received > 0, "the other process");
    at += received;
    bytes -= static_cast<size_t>(received);
  }
}

double resident_kib() {
  FILE* const file = std::fopen("/proc/self/statm", "re");
  check(file != nullptr, "/proc/self/statm");
  long size = 0;
  long resident = 0;
  check(std::fscanf(file, "%ld %ld", &size, &resident) == 2, "/proc/self/statm");
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

void make_shared_objects(Side& side) {
  const Options& options = side.options;
  side.memory.resize(std::max<size_t>(options.bytes, 64) * Side::kBuffers);
  side.region = register_memory(side.device, side.memory.data(), side.memory.size());
  const uint32_t entries = (options.qps / options.threads + 1) * options.depth;
  for (uint32_t i = 0; i < options.threads; ++i)
    side.cqs.push_back(make_cq(side.device, static_cast<int>(entries)));
}

/// As a program of several threads does: each makes those that it is going to use. All exist at
/// once.
void make_qps(Side& side) {
  const Options& options = side.options;
  side.qps.resize(options.qps);
  std::barrier all_have_made(static_cast<ptrdiff_t>(options.threads));
  std::vector<std::jthread> threads;
  for (uint32_t thread = 0; thread < options.threads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint32_t i = thread; i < options.qps; i += options.threads)
        side.qps[i] = make_qp(side.device, side.cqs[thread], options.depth);
      all_have_made.arrive_and_wait();
    });
  }
}

}  // namespace

void meet(int channel) {
  uint8_t token = 0;
  send_all(channel, &token, 1);
  receive_all(channel, &token, 1);
}

void connect_all(Side& side) {
  const Options& options = side.options;
  side.device = open_first_device(options.gid_index);
  make_shared_objects(side);
  const double before = resident_kib();
  make_qps(side);
  std::vector<uint32_t> numbers;
  numbers.reserve(side.qps.size());
  for (const ibv_qp* qp : side.qps) numbers.push_back(qp->qp_num);
  const Peer self{side.device.gid, reinterpret_cast<uintptr_t>(side.memory.data()),
                  side.region->rkey};
  send_all(side.channel, &self, sizeof self);
  receive_all(side.channel, &side.peer, sizeof side.peer);
  send_all(side.channel, numbers.data(), numbers.size() * sizeof numbers[0]);
  receive_all(side.channel, numbers.data(), numbers.size() * sizeof numbers[0]);
  for (uint32_t i = 0; i < options.qps; ++i)
    connect(side.device, side.qps[i], numbers[i], side.peer.gid, options.gid_index);
  side.kib_per_qp = (resident_kib() - before) / options.qps;
  meet(side.channel);
}

}  // namespace bench
