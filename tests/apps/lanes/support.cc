// SPDX-License-Identifier: BSD-2-Clause
#include "support.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace lanes {
namespace {

constexpr int kEntries = 256;

uint64_t value_of(uint32_t thread, uint32_t round) {
  return uint64_t{round} << 32 | (thread + 1) * 0x01010101U;
}

}  // namespace

bool in_turn() {
  const char* const lanes = std::getenv("URXE_LANES");
  return lanes != nullptr && std::string(lanes) != "auto";
}

void LanesTest::SetUp() {
  context_ = rc_errors::open_device();
  ASSERT_NE(context_, nullptr);
  gid_ = rc_errors::own_gid(context_.get());
  pd_.reset(ibv_alloc_pd(context_.get()));
  ASSERT_NE(pd_, nullptr);
  memory_ = std::make_unique<rc_errors::Memory>(pd_.get(), size_t{kThreads} * 2 * kSize,
                                                kAllAccess | IBV_ACCESS_MW_BIND);
}

CqPtr LanesTest::make_cq(ibv_comp_channel* channel) const {
  CqPtr cq(ibv_create_cq(context_.get(), kEntries, nullptr, channel, 0));
  EXPECT_NE(cq, nullptr);
  return cq;
}

QpPtr LanesTest::make_qp(ibv_cq* send_cq, ibv_cq* recv_cq, ibv_qp_type type, ibv_srq* srq) const {
  ibv_qp_init_attr init{};
  init.send_cq = send_cq;
  init.recv_cq = recv_cq;
  init.srq = srq;
  init.qp_type = type;
  init.sq_sig_all = 1;
  init.cap = {32, 32, 2, 2, 0};
  QpPtr qp(ibv_create_qp(pd_.get(), &init));
  EXPECT_NE(qp, nullptr);
  return qp;
}

Queues LanesTest::make_queues() const {
  Queues queues;
  queues.cq = make_cq();
  queues.left = make_qp(queues.cq.get(), queues.cq.get());
  queues.right = make_qp(queues.cq.get(), queues.cq.get());
  return queues;
}

void LanesTest::connect(ibv_qp* a, ibv_qp* b) const {
  rc_errors::to_rts(a, {}, gid_, b->qp_num);
  rc_errors::to_rts(b, {}, gid_, a->qp_num);
}

uint64_t LanesTest::address(uint32_t thread, uint32_t half) const {
  return reinterpret_cast<uintptr_t>(bytes(thread, half));
}

uint8_t* LanesTest::bytes(uint32_t thread, uint32_t half) const {
  return memory_->bytes.data() + (size_t{thread} * 2 + half) * kSize;
}

ibv_sge LanesTest::sge(uint32_t thread, uint32_t half) const {
  return {address(thread, half), kSize, memory_->mr->lkey};
}

void in_threads(const std::function<void(uint32_t, std::barrier<>&)>& part) {
  std::barrier all(kThreads);
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { part(i, all); });
}

void fill(uint8_t* bytes, uint32_t thread, uint32_t round) {
  const uint64_t value = value_of(thread, round);
  for (size_t at = 0; at < kSize; at += sizeof value) std::memcpy(bytes + at, &value, sizeof value);
}

bool is_filled(const uint8_t* bytes, uint32_t thread, uint32_t round) {
  uint8_t wanted[kSize];
  fill(wanted, thread, round);
  return std::memcmp(bytes, wanted, kSize) == 0;
}

bool expect_success(ibv_cq* cq) {
  const ibv_wc completion = next_completion(cq);
  EXPECT_EQ(completion.status, IBV_WC_SUCCESS) << ibv_wc_status_str(completion.status);
  return completion.status == IBV_WC_SUCCESS;
}

}  // namespace lanes
