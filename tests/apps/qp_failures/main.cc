// SPDX-License-Identifier: BSD-2-Clause
// Two RC queue pairs of one process. One of them fails; then the process waits to be observed.
//
//   urxe_qp_failures CASE [END]
//       prints "left QPN right QPN" in hexadecimal, and "done" after the completion of the failed
//       request. END is "stay": runs until it is killed; "exit": ends with exit(3), and destroys
//       nothing; "destroy": destroys all, and then runs until it is killed
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include "tests/apps/rc_errors/pair.h"

namespace {

using rc_errors::Memory;
using rc_errors::Settings;
using rc_errors::Side;

constexpr uint32_t kLength = 8;
constexpr uint64_t kWrId = 77;

struct Ends {
  Side& left;
  Side& right;
};

void write_to(const Ends& ends, uint64_t address, uint32_t rkey) {
  Memory source(ends.left.pd.get(), kLength);
  rc_errors::post_rdma(ends.left.qp.get(), kWrId, IBV_WR_RDMA_WRITE, source.sge(kLength), address,
                       rkey);
  rc_errors::next_completion(ends.left.cq.get());
}

void unknown_key(const Ends& ends) {
  const Memory target(ends.right.pd.get(), kLength);
  write_to(ends, target.address(), target.mr->rkey ^ 0x55);
}

void bounds(const Ends& ends) {
  const Memory target(ends.right.pd.get(), kLength);
  write_to(ends, target.address() + 4, target.mr->rkey);
}

void rights(const Ends& ends) {
  const Memory target(ends.right.pd.get(), kLength, IBV_ACCESS_LOCAL_WRITE);
  write_to(ends, target.address(), target.mr->rkey);
}

void send(const Ends& ends) {
  Memory source(ends.left.pd.get(), kLength);
  rc_errors::post_send(ends.left.qp.get(), kWrId, source.sge(kLength));
  rc_errors::next_completion(ends.left.cq.get());
}

void no_receive(const Ends& ends) {
  send(ends);
}

void no_answer(const Ends& ends) {
  rc_errors::modify_state(ends.right.qp.get(), IBV_QPS_RESET);
  send(ends);
}

void local_key(const Ends& ends) {
  Memory source(ends.left.pd.get(), kLength);
  ibv_sge sge = source.sge(kLength);
  sge.lkey ^= 0x55;
  rc_errors::post_send(ends.left.qp.get(), kWrId, sge);
  rc_errors::next_completion(ends.left.cq.get());
}

void recovered(const Ends& ends) {
  bounds(ends);
  rc_errors::modify_state(ends.left.qp.get(), IBV_QPS_RESET);
}

void modified(const Ends& ends) {
  rc_errors::modify_state(ends.left.qp.get(), IBV_QPS_ERR);
}

const std::map<std::string, std::function<void(const Ends&)>> kCases = {
    {"unknown_key", unknown_key}, {"bounds", bounds},       {"rights", rights},
    {"no_receive", no_receive},   {"no_answer", no_answer}, {"local_key", local_key},
    {"modified", modified},       {"recovered", recovered}};

void fail(const std::function<void(const Ends&)>& fail_in_some_way, bool exits, bool stays) {
  Settings settings;
  settings.rnr_retry = 0;
  settings.timeout = 8;
  settings.retry_count = 1;
  const auto context = rc_errors::open_device();
  const ibv_gid gid = rc_errors::own_gid(context.get());
  Side left(context.get(), settings);
  Side right(context.get(), settings);
  rc_errors::to_rts(left.qp.get(), settings, gid, right.qp->qp_num);
  rc_errors::to_rts(right.qp.get(), settings, gid, left.qp->qp_num);
  std::printf("left 0x%06x right 0x%06x\n", left.qp->qp_num, right.qp->qp_num);
  fail_in_some_way({left, right});
  if (!exits && !stays) return;
  std::printf("done\n");
  std::fflush(stdout);
  if (exits) std::exit(3);
  pause();
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 2 || argc == 3 ? kCases.find(argv[1]) : kCases.end();
  const std::string end = argc == 3 ? argv[2] : "stay";
  if (found == kCases.end() || (end != "stay" && end != "exit" && end != "destroy")) {
    std::fprintf(stderr, "usage: %s CASE [stay|exit|destroy]\n", argv[0]);
    return 2;
  }
  fail(found->second, end == "exit", end == "stay");
  std::printf("done\n");
  std::fflush(stdout);
  pause();
  return 0;
}
