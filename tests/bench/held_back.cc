// SPDX-License-Identifier: BSD-2-Clause
// How long a small request takes that is posted right behind another one by an application that has
// polled until then, and does something else afterwards: microseconds until its bytes are in the
// memory of another queue pair of the same process.
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "tests/bench/verbs_end.h"

namespace {

constexpr int kRounds = 200;
constexpr auto kPolling = std::chrono::milliseconds(10);

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  const bench::Device device = bench::open_first_device(0);
  alignas(64) static std::array<volatile uint64_t, 64> memory;
  ibv_mr* mr = bench::register_memory(device, const_cast<uint64_t*>(memory.data()), sizeof memory);
  ibv_cq* const cq = bench::make_cq(device, 64);
  ibv_qp* const left = bench::make_qp(device, cq, 32);
  ibv_qp* const right = bench::make_qp(device, bench::make_cq(device, 64), 32);
  bench::connect(device, left, right->qp_num, device.gid, 0);
  bench::connect(device, right, left->qp_num, device.gid, 0);

  std::vector<double> waits;
  for (int round = 1; round <= kRounds; ++round) {
    ibv_wc wc{};
    const auto start = Clock::now();
    while (Clock::now() - start < kPolling) ibv_poll_cq(cq, 1, &wc);
    memory[0] = static_cast<uint64_t>(round);
    ibv_sge sge{reinterpret_cast<uintptr_t>(&memory[0]), 8, mr->lkey};
    for (int request = 0; request < 2; ++request) {
      ibv_send_wr wr{};
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_RDMA_WRITE;
      wr.send_flags = IBV_SEND_SIGNALED;
      wr.wr.rdma = {reinterpret_cast<uintptr_t>(&memory[8 + request]), mr->rkey};
      ibv_send_wr* bad = nullptr;
      bench::check(ibv_post_send(left, &wr, &bad) == 0, "ibv_post_send");
    }
    const auto posted = Clock::now();
    while (memory[9] != static_cast<uint64_t>(round)) {
    }
    waits.push_back(std::chrono::duration<double, std::micro>(Clock::now() - posted).count());
  }
  std::ranges::sort(waits);
  std::printf("median %.0f us, 90%% %.0f us, longest %.0f us\n", waits[waits.size() / 2],
              waits[waits.size() * 9 / 10], waits.back());
  return 0;
}
