// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/memory/window_bench.h"

#include <gtest/gtest.h>

namespace urxe::test {

RKey next_key(RKey key) {
  return RKey(ibv_inc_rkey(key.value()));
}

WindowBench::WindowBench(const BenchOptions& options) : Bench(options) {
  region = device
               .register_memory(pd, backing, sizeof backing, kRegionVa,
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
               .value();
  window = device.alloc_window(pd, IBV_MW_TYPE_2).value();
}

BindRequest WindowBench::ask(const MemoryWindow& which) const {
  BindRequest request;
  request.window = which.rkey;
  request.new_key = next_key(which.rkey);
  request.region = region->lkey;
  request.va = kWindowVa;
  request.length = kWindowBytes;
  request.access = kAllRemote;
  return request;
}

void WindowBench::post_bind(const BindRequest& request, unsigned flags) {
  sim::SendRequest post_request;
  post_request.opcode = IBV_WR_BIND_MW;
  post_request.flags = flags;
  post_request.bind = request;
  post(post_request);
}

void WindowBench::post_invalidate(RKey rkey, unsigned flags) {
  sim::SendRequest post_request;
  post_request.opcode = IBV_WR_LOCAL_INV;
  post_request.flags = flags;
  post_request.invalidate = rkey;
  post(post_request);
}

void WindowBench::bind(const BindRequest& request) {
  post_bind(request);
  EXPECT_EQ(sent(), Lines{});
  const std::vector<ibv_wc> wcs = poll(*send_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_BIND_MW);
}

QueuePair& WindowBench::other_qp() {
  QpInit init;
  init.qpn = Qpn{kQpn + 1};
  init.pd = pd;
  init.send_cq = send_cq;
  init.recv_cq = recv_cq;
  init.cap = {4, 4, 1, 1, 0};
  init.sq_sig_all = true;
  QueuePair& other = *device.create_qp(init).value();
  sim::ConnectOptions connect;
  connect.destination = qp->flow().destination;
  connect.dest_qpn = Qpn{kPeerQpn + 1};
  EXPECT_TRUE(sim::connect(device, other, connect, now));
  return other;
}

bool WindowBench::answered() {
  const Lines lines = sent();
  EXPECT_EQ(lines.size(), 1U);
  if (lines.size() != 1) return false;
  const bool refused = lines[0].find("nak \"remote access error\"") != std::string::npos;
  EXPECT_EQ(lines[0].find("nak") != std::string::npos, refused) << lines[0];
  EXPECT_EQ(qp->state(), refused ? IBV_QPS_ERR : IBV_QPS_RTS);
  return !refused;
}

bool WindowBench::write(RKey rkey, uint64_t va, uint32_t length) {
  receive(Operation::kWriteOnly, next_psn_++, reth(va, rkey, length), counting(length));
  return answered();
}

bool WindowBench::read(RKey rkey, uint64_t va, uint32_t length) {
  receive(Operation::kReadRequest, next_psn_++, reth(va, rkey, length));
  return answered();
}

bool WindowBench::add(RKey rkey, uint64_t va) {
  Headers headers;
  headers.bth.ack_req = true;
  headers.atomic = {va, rkey, 5, 0};
  receive(Operation::kFetchAdd, next_psn_++, headers);
  return answered();
}

bool WindowBench::send_invalidate(RKey rkey) {
  Headers headers;
  headers.bth.ack_req = true;
  headers.invalidate = rkey;
  receive(Operation::kSendOnlyInvalidate, next_psn_++, headers, counting(4));
  return answered();
}

}  // namespace urxe::test
