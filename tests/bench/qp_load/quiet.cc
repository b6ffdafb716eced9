// SPDX-License-Identifier: BSD-2-Clause
// Patterns in which most queue pairs, or all, are idle.
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/bench/qp_load/patterns.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kWarmUpRounds = 1000;
constexpr uint64_t kLastRound = UINT64_MAX;
constexpr size_t kMostSamples = 10'000'000;

constexpr uint64_t kSpinsBetweenLooks = 1 << 24;

/// Whether the other process has not ended.
bool is_there(int channel) {
  char token = 0;
  return ::recv(channel, &token, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

/// A ping-pong by WRITEs of a word: ours lies in the first word of memory, theirs in the second.
struct PingPong {
  Side& side;
  volatile uint64_t* words;
  ibv_qp* qp;

  void write(uint64_t round) const {
    words[0] = round;
    ibv_sge element{reinterpret_cast<uintptr_t>(&words[0]), sizeof round, side.region->lkey};
    ibv_send_wr request{};
    request.sg_list = &element;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma = {side.peer.address + sizeof round, side.peer.rkey};
    ibv_send_wr* bad = nullptr;
    check(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send");
  }

  /// For another word than that of the last round. Returns it.
  [[nodiscard]] uint64_t wait(uint64_t last) const {
    for (uint64_t spins = 1; words[1] == last; ++spins)
      if (spins % kSpinsBetweenLooks == 0) check(is_there(side.channel), "the other process");
    return words[1];
  }

  void reap() const {
    ibv_wc completion{};
    int count = 0;
    while (count == 0) count = ibv_poll_cq(side.cqs[0], 1, &completion);
    check(count == 1, "ibv_poll_cq");
    if (completion.status == IBV_WC_SUCCESS) return;
    std::fprintf(stderr, "%s\n", ibv_wc_status_str(completion.status));
    std::exit(1);
  }
};

void print(std::vector<double>& half_trips) {
  check(!half_trips.empty(), "no round was measured");
  std::ranges::sort(half_trips);
  std::printf("{\"typical_us\": %.3f, \"99%%_us\": %.3f}\n", half_trips[half_trips.size() / 2],
              half_trips[half_trips.size() * 99 / 100]);
}

void start_ping_pong(const PingPong& game) {
  std::vector<double> half_trips;
  half_trips.reserve(kMostSamples);
  const auto end = Clock::now() + std::chrono::duration<double>(game.side.options.seconds);
  for (uint64_t round = 1; half_trips.size() < kMostSamples; ++round) {
    const auto start = Clock::now();
    if (start > end && round > 2 * kWarmUpRounds) break;
    game.write(round);
    static_cast<void>(game.wait(round - 1));
    const std::chrono::duration<double, std::micro> trip = Clock::now() - start;
    game.reap();
    if (round > kWarmUpRounds) half_trips.push_back(trip.count() / 2);
  }
  game.write(kLastRound);
  game.reap();
  print(half_trips);
}

void answer_ping_pong(const PingPong& game) {
  for (uint64_t round = game.wait(0); round != kLastRound; round = game.wait(round)) {
    game.write(round);
    game.reap();
  }
}

double used_seconds() {
  rusage usage{};
  check(::getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

void ping_pong(Side& side, bool starts) {
  const PingPong game{side, reinterpret_cast<volatile uint64_t*>(side.memory.data()),
                      side.qps[side.qps.size() / 2]};
  starts ? start_ping_pong(game) : answer_ping_pong(game);
  meet(side.channel);
}

void stay_idle(Side& side, bool prints) {
  const double before = used_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(side.options.seconds));
  const double used = used_seconds() - before;
  if (prints)
    std::printf("{\"cpu_percent\": %.3f, \"kib_per_qp\": %.2f}\n",
                used / side.options.seconds * 100, side.kib_per_qp);
  meet(side.channel);
}

}  // namespace bench
