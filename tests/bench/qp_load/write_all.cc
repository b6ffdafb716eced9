// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "tests/bench/qp_load/patterns.h"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWarmUp = std::chrono::milliseconds(500);

enum class Phase { kBefore, kMeasured, kOver };

/// What the threads of the writer share.
struct Load {
  Side& side;
  std::vector<uint64_t> done;  ///< messages of each queue pair, measured; of one thread each
  std::atomic<Phase> phase{Phase::kBefore};
};

void post(Side& side, uint32_t index) {
  ibv_sge element{reinterpret_cast<uintptr_t>(side.memory.data()) + side.offset(index),
                  static_cast<uint32_t>(side.options.bytes), side.region->lkey};
  ibv_send_wr request{};
  request.wr_id = index;
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {side.peer.address + side.offset(index), side.peer.rkey};
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(side.qps[index], &request, &bad) == 0, "ibv_post_send");
}

/// Returns how many.
uint64_t post_first(Side& side, uint32_t thread) {
  uint64_t posted = 0;
  for (uint32_t round = 0; round < side.options.depth; ++round) {
    for (uint32_t i = thread; i < side.options.qps; i += side.options.threads) {
      post(side, i);
      ++posted;
    }
  }
  return posted;
}

void run_thread(Load& load, uint32_t thread) {
  uint64_t in_flight = post_first(load.side, thread);
  std::array<ibv_wc, 64> completions{};
  while (in_flight > 0) {
    const int count = ibv_poll_cq(load.side.cqs[thread], static_cast<int>(completions.size()),
                                  completions.data());
    check(count >= 0, "ibv_poll_cq");
    const Phase phase = load.phase.load(std::memory_order_relaxed);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<size_t>(i)];
      const auto index = static_cast<uint32_t>(completion.wr_id);
      if (completion.status != IBV_WC_SUCCESS) {
        std::fprintf(stderr, "queue pair %u: %s\n", index, ibv_wc_status_str(completion.status));
        std::exit(1);
      }
      if (phase == Phase::kMeasured) ++load.done[index];
      if (phase == Phase::kOver)
        --in_flight;
      else
        post(load.side, index);
    }
  }
}

void print(const Load& load, double seconds) {
  const uint64_t messages = std::accumulate(load.done.begin(), load.done.end(), uint64_t{0});
  const double mean = static_cast<double>(messages) / static_cast<double>(load.done.size());
  const auto slowest = static_cast<double>(*std::ranges::min_element(load.done));
  std::printf(
      "{\"gb_per_s\": %.4f, \"messages_per_s\": %.0f, \"slowest_of_mean\": %.3f, \"bytes\": "
      "%llu}\n",
      static_cast<double>(messages * load.side.options.bytes) / seconds / 1e9,
      static_cast<double>(messages) / seconds, mean > 0 ? slowest / mean : 0,
      static_cast<unsigned long long>(messages * load.side.options.bytes));
}

bool other_side_is_done(int channel) {
  char token = 0;
  return ::recv(channel, &token, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

void compute(uint64_t& number) {
  for (int i = 0; i < 100'000; ++i) number = number * 6364136223846793005U + 1442695040888963407U;
}

}  // namespace

void write_on_all(Side& side) {
  Load load{side, std::vector<uint64_t>(side.options.qps)};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < side.options.threads; ++i)
    threads.emplace_back([&load, i] { run_thread(load, i); });
  std::this_thread::sleep_for(kWarmUp);
  const auto start = Clock::now();
  load.phase = Phase::kMeasured;
  std::this_thread::sleep_for(std::chrono::duration<double>(side.options.seconds));
  load.phase = Phase::kOver;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (std::thread& thread : threads) thread.join();
  print(load, seconds);
  meet(side.channel);
}

void be_written_to(Side& side) {
  uint64_t number = 1;
  ibv_wc completion{};
  while (side.options.target != Target::kSleeps && !other_side_is_done(side.channel)) {
    if (side.options.target == Target::kComputes) {
      compute(number);
      continue;
    }
    for (int i = 0; i < 1000; ++i) ibv_poll_cq(side.cqs[0], 1, &completion);
  }
  // So that the numbers are computed.
  if (number == 0) std::puts("");
  meet(side.channel);
}

}  // namespace bench
