// SPDX-License-Identifier: BSD-2-Clause
// Threads of one process, each with two queue pairs that are connected to each other: how many
// processors they can keep busy.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/bench/qp_load/patterns.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Shared {
  const Options& options;
  Device device;
  std::vector<uint64_t> done;  ///< messages of each thread
  std::atomic<bool> is_over{false};
  std::barrier<> all;
};

void write_one(ibv_qp* qp, ibv_cq* cq, ibv_mr* region, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(region->addr);
  ibv_sge element{start, static_cast<uint32_t>(bytes), region->lkey};
  ibv_send_wr request{};
  request.sg_list = &element;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {start + bytes, region->rkey};
  ibv_send_wr* bad = nullptr;
  check(ibv_post_send(qp, &request, &bad) == 0, "ibv_post_send");
  ibv_wc completion{};
  while (ibv_poll_cq(cq, 1, &completion) == 0) {
  }
  check(completion.status == IBV_WC_SUCCESS, ibv_wc_status_str(completion.status));
}

void run_thread(Shared& shared, uint32_t thread) {
  const Options& options = shared.options;
  std::vector<uint8_t> memory(2 * options.bytes);
  ibv_mr* const region = register_memory(shared.device, memory.data(), memory.size());
  ibv_cq* const cq = make_cq(shared.device, 8);
  ibv_qp* const from = make_qp(shared.device, cq, 1);
  ibv_qp* const to = make_qp(shared.device, cq, 1);
  connect(shared.device, from, to->qp_num, shared.device.gid, options.gid_index);
  connect(shared.device, to, from->qp_num, shared.device.gid, options.gid_index);
  shared.all.arrive_and_wait();
  while (!shared.is_over.load(std::memory_order_relaxed)) {
    write_one(from, cq, region, options.bytes);
    ++shared.done[thread];
  }
  shared.all.arrive_and_wait();
  ibv_destroy_qp(from);
  ibv_destroy_qp(to);
}

}  // namespace

void write_within(const Options& options) {
  Shared shared{options,
                open_first_device(options.gid_index),
                std::vector<uint64_t>(options.threads),
                {false},
                std::barrier<>(static_cast<ptrdiff_t>(options.threads) + 1)};
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < options.threads; ++i)
    threads.emplace_back([&shared, i] { run_thread(shared, i); });
  shared.all.arrive_and_wait();
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  shared.is_over = true;
  shared.all.arrive_and_wait();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto messages = std::accumulate(shared.done.begin(), shared.done.end(), uint64_t{0});
  std::printf("{\"messages_per_s\": %.0f, \"bytes\": %llu}\n",
              static_cast<double>(messages) / seconds,
              static_cast<unsigned long long>(messages * options.bytes));
}

}  // namespace bench
