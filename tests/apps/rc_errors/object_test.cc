// SPDX-License-Identifier: BSD-2-Clause
// Lifetimes, memory registration and the size of completion queues.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <stop_token>
#include <thread>

#include "pair.h"
#include "tests/support/own_addresses.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;
using Objects = PairTest;

// A UC queue pair in RTS, which is its own peer.
QpPtr unreliable_loop(const Side& side, const ibv_gid& gid) {
  const Settings settings;
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UC;
  init.send_cq = init.recv_cq = side.cq.get();
  init.cap = {settings.send_entries, settings.receive_entries, 1, 1, 0};
  init.sq_sig_all = 1;
  QpPtr qp(ibv_create_qp(side.pd.get(), &init));
  if (qp == nullptr) return qp;
  const ibv_qp_attr rtr = rtr_attributes(settings, gid, qp->qp_num);
  EXPECT_EQ(modify(qp.get(), init_attributes(settings), kInitMask), 0);
  EXPECT_EQ(modify(qp.get(), rtr,
                   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
            0);
  EXPECT_EQ(modify(qp.get(), rts_attributes(settings), IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
  return qp;
}

TEST_F(Objects, WhatIsInUseStays) {
  PdPtr pd(ibv_alloc_pd(context_.get()));
  {
    Memory memory(pd.get(), kSize);
    EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  }
  Side side(context_.get(), Settings{});
  EXPECT_EQ(ibv_dealloc_pd(side.pd.get()), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(side.cq.get()), EBUSY);
  side.qp.reset();
  EXPECT_EQ(ibv_destroy_cq(side.cq.release()), 0);
  EXPECT_EQ(ibv_dealloc_pd(side.pd.release()), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd.release()), 0);
}

TEST_F(Objects, ChannelInUseStays) {
  ChannelPtr channel(ibv_create_comp_channel(context_.get()));
  ASSERT_NE(channel, nullptr);
  CqPtr cq(ibv_create_cq(context_.get(), 4, nullptr, channel.get(), 0));
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel.get()), EBUSY);
}

TEST_F(Objects, MemoryThatIsNotMapped) {
  PdPtr pd(ibv_alloc_pd(context_.get()));
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* pages = urxe::test::map_at_own_addresses(3 * page);
  ASSERT_NE(pages, MAP_FAILED);
  auto* second = static_cast<uint8_t*>(pages) + page;
  ASSERT_EQ(::munmap(second, page), 0);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pd.get(), second, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pd.get(), pages, 3 * page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  ::munmap(pages, page);
  ::munmap(second + page, page);
}

TEST_F(Objects, WritableForOthersButNotForUs) {
  PdPtr pd(ibv_alloc_pd(context_.get()));
  uint64_t word = 0;
  for (int access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(pd.get(), &word, sizeof word, access), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_F(Objects, ReregisterMovesARegion) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  std::vector<uint8_t> other(kSize, 0);
  ASSERT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other.data(),
                         other.size(), 0),
            0);
  local.bytes.assign(kSize, 0x5a);
  const auto moved = reinterpret_cast<uint64_t>(other.data());
  ASSERT_EQ(
      post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, local.sge(kSize), moved, target.mr->rkey),
      0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(other, local.bytes);
  EXPECT_EQ(target.bytes, std::vector<uint8_t>(kSize, 0));
  ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_WRITE, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  expect_completion(left_->cq.get(), 2, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Objects, ReregisterTakesRightsAway) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
            0);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_READ, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_WRITE, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  expect_completion(left_->cq.get(), 2, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Objects, RegionAtAnotherVirtualAddress) {
  connect();
  Memory local(left_->pd.get(), kSize);
  std::vector<uint8_t> bytes(kSize, 0);
  constexpr uint64_t kIova = 0x7000000000;
  MrPtr mr(ibv_reg_mr_iova(right_->pd.get(), bytes.data(), bytes.size(), kIova, kAllAccess));
  ASSERT_NE(mr, nullptr);
  local.bytes.assign(kSize, 0x77);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, local.sge(kSize), kIova, mr->rkey), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(bytes, local.bytes);
}

TEST_F(Objects, ResizeKeepsWhatIsInTheQueue) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  constexpr uint64_t kCount = 10;
  for (uint64_t id = 0; id < kCount; ++id)
    ASSERT_EQ(post_rdma(left_->qp.get(), id, IBV_WR_RDMA_WRITE, local.sge(1), target.address(),
                        target.mr->rkey),
              0);
  expect_completion(left_->cq.get(), 0, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_resize_cq(left_->cq.get(), 1000), 0);
  EXPECT_GE(left_->cq->cqe, 1000);
  for (uint64_t id = 1; id < kCount; ++id) expect_completion(left_->cq.get(), id, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_resize_cq(left_->cq.get(), 16), 0);
  EXPECT_GE(left_->cq->cqe, 16);
  ASSERT_EQ(post_rdma(left_->qp.get(), 77, IBV_WR_RDMA_WRITE, local.sge(1), target.address(),
                      target.mr->rkey),
            0);
  expect_completion(left_->cq.get(), 77, IBV_WC_SUCCESS);
}

// Also if another thread drives the device while they are posted. UC requests are complete when
// they have been sent. The rounds are so few that none waits for room in the receiver's buffer.
TEST_F(Objects, ResizeCountsWhatWasPostedBefore) {
  Side side(context_.get(), Settings{});
  const QpPtr qp = unreliable_loop(side, gid_);
  ASSERT_NE(qp, nullptr);
  const CqPtr empty(ibv_create_cq(context_.get(), 1, nullptr, nullptr, 0));
  const std::jthread driver([&](const std::stop_token& stop) {
    ibv_wc completion{};
    while (!stop.stop_requested()) ibv_poll_cq(empty.get(), 1, &completion);
  });
  for (uint64_t round = 0; round < 50; ++round) {
    for (uint64_t id = 0; id < 4; ++id) ASSERT_EQ(post_send(qp.get(), id, {}), 0);
    ASSERT_EQ(ibv_resize_cq(side.cq.get(), 1), EINVAL) << "round " << round;
    for (uint64_t id = 0; id < 4; ++id) expect_completion(side.cq.get(), id, IBV_WC_SUCCESS);
  }
}

TEST_F(Objects, ResizeBeyondTheDevice) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  Side side(context_.get(), Settings{});
  EXPECT_EQ(ibv_resize_cq(side.cq.get(), device.max_cqe + 1), EINVAL);
  EXPECT_NE(ibv_resize_cq(side.cq.get(), 0), 0);
}

}  // namespace
}  // namespace rc_errors
