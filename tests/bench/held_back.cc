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
#include <cstdlib>
#include <vector>

namespace {

constexpr int kRounds = 200;
constexpr auto kPolling = std::chrono::milliseconds(10);

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

struct End {
  ibv_cq* cq;
  ibv_qp* qp;
};

End make_end(ibv_context* context, ibv_pd* pd) {
  End end{ibv_create_cq(context, 64, nullptr, nullptr, 0), nullptr};
  check(end.cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = end.cq;
  init.cap = {32, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  end.qp = ibv_create_qp(pd, &init);
  check(end.qp != nullptr, "ibv_create_qp");
  return end;
}

void connect(const End& end, uint32_t peer, const ibv_gid& gid) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  check(ibv_modify_qp(end.qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
        "INIT");
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer;
  attr.max_dest_rd_atomic = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.port_num = 1;
  check(ibv_modify_qp(end.qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
        "RTR");
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.max_rd_atomic = 1;
  check(ibv_modify_qp(end.qp, &attr,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
        "RTS");
}

}  // namespace

int main() {
  using Clock = std::chrono::steady_clock;
  ibv_device** devices = ibv_get_device_list(nullptr);
  check(devices != nullptr && devices[0] != nullptr, "ibv_get_device_list");
  ibv_context* context = ibv_open_device(devices[0]);
  check(context != nullptr, "ibv_open_device");
  ibv_pd* pd = ibv_alloc_pd(context);
  alignas(64) static std::array<volatile uint64_t, 64> memory;
  ibv_mr* mr = ibv_reg_mr(pd, const_cast<uint64_t*>(memory.data()), sizeof memory,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  check(mr != nullptr, "ibv_reg_mr");
  ibv_gid gid{};
  check(ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
  const End left = make_end(context, pd);
  const End right = make_end(context, pd);
  connect(left, right.qp->qp_num, gid);
  connect(right, left.qp->qp_num, gid);

  std::vector<double> waits;
  for (int round = 1; round <= kRounds; ++round) {
    ibv_wc wc{};
    const auto start = Clock::now();
    while (Clock::now() - start < kPolling) ibv_poll_cq(left.cq, 1, &wc);
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
      check(ibv_post_send(left.qp, &wr, &bad) == 0, "ibv_post_send");
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
