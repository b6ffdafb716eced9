// SPDX-License-Identifier: BSD-2-Clause
// What the responder refuses, as the requester sees it.
#include <cerrno>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;

struct RemoteAccess : PairTest {
  // Posts the operation and a SEND behind it; both must fail, in order, and the queue pair with
  // them.
  void expect_refused(ibv_wr_opcode opcode, uint32_t length, uint64_t remote_address, uint32_t rkey,
                      ibv_wc_status status = IBV_WC_REM_ACCESS_ERR) {
    Memory local(left_->pd.get(), kSize);
    ibv_qp* qp = left_->qp.get();
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
      ASSERT_EQ(post_atomic(qp, 1, opcode, local.sge(8), remote_address, rkey), 0);
    } else {
      ASSERT_EQ(post_rdma(qp, 1, opcode, local.sge(length), remote_address, rkey), 0);
    }
    for (uint64_t id : {2, 3}) ASSERT_EQ(post_send(qp, id, local.sge(4)), 0);
    expect_completion(left_->cq.get(), 1, status);
    expect_completion(left_->cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
    expect_completion(left_->cq.get(), 3, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(state_of(qp), IBV_QPS_ERR);
  }
};

TEST_F(RemoteAccess, KeyOfNothing) {
  connect();
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address(), target.mr->rkey ^ 0x55555500);
}

TEST_F(RemoteAccess, KeyOfDeregisteredRegion) {
  connect();
  Memory target(right_->pd.get(), kSize);
  const uint32_t rkey = target.mr->rkey;
  target.mr.reset();
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address(), rkey);
}

TEST_F(RemoteAccess, KeyOfAnotherProtectionDomain) {
  connect();
  Memory target(left_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address(), target.mr->rkey);
}

TEST_F(RemoteAccess, WriteWithoutTheRight) {
  connect();
  Memory target(right_->pd.get(), kSize, kAllAccess & ~IBV_ACCESS_REMOTE_WRITE);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address(), target.mr->rkey);
  EXPECT_EQ(target.bytes, std::vector<uint8_t>(kSize, 0));
}

TEST_F(RemoteAccess, ReadWithoutTheRight) {
  connect();
  Memory target(right_->pd.get(), kSize, kAllAccess & ~IBV_ACCESS_REMOTE_READ);
  expect_refused(IBV_WR_RDMA_READ, kSize, target.address(), target.mr->rkey);
}

TEST_F(RemoteAccess, AtomicWithoutTheRight) {
  connect();
  Memory target(right_->pd.get(), kSize, kAllAccess & ~IBV_ACCESS_REMOTE_ATOMIC);
  expect_refused(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, target.address(), target.mr->rkey);
}

TEST_F(RemoteAccess, OneByteBeyondTheEnd) {
  connect();
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address() + 1, target.mr->rkey);
}

TEST_F(RemoteAccess, OneByteBeforeTheStart) {
  connect();
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_READ, kSize, target.address() - 1, target.mr->rkey);
}

TEST_F(RemoteAccess, AddressThatWraps) {
  connect();
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, ~0ULL - 8, target.mr->rkey);
}

TEST_F(RemoteAccess, QueuePairDoesNotAllowWrites) {
  Settings settings;
  settings.qp_access = IBV_ACCESS_REMOTE_READ;
  connect(settings);
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address(), target.mr->rkey,
                 IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(RemoteAccess, QueuePairDoesNotAllowReads) {
  Settings settings;
  settings.qp_access = IBV_ACCESS_REMOTE_WRITE;
  connect(settings);
  Memory target(right_->pd.get(), kSize);
  expect_refused(IBV_WR_RDMA_READ, kSize, target.address(), target.mr->rkey,
                 IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(RemoteAccess, ResponderGoesToErrorToo) {
  connect();
  Memory target(right_->pd.get(), kSize);
  for (uint64_t id : {7, 8}) ASSERT_EQ(post_receive(right_->qp.get(), id, target.sge(8)), 0);
  expect_refused(IBV_WR_RDMA_WRITE, kSize, target.address() + 1, target.mr->rkey);
  expect_completion(right_->cq.get(), 7, IBV_WC_WR_FLUSH_ERR);
  expect_completion(right_->cq.get(), 8, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(right_->qp.get()), IBV_QPS_ERR);
  expect_event(context_.get(), IBV_EVENT_QP_ACCESS_ERR);
}

// The key of an RDMA request without bytes is not looked at.
TEST_F(RemoteAccess, NoBytesNeedNoKey) {
  connect();
  Memory local(left_->pd.get(), kSize);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, local.sge(0), 0, 0x123456), 0);
  ASSERT_EQ(post_rdma(left_->qp.get(), 2, IBV_WR_RDMA_READ, local.sge(0), 0, 0x123456), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
}

// Refused either when posted or by the responder.
TEST_F(RemoteAccess, AtomicAtAnUnalignedAddress) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  const int error = post_atomic(left_->qp.get(), 1, IBV_WR_ATOMIC_FETCH_AND_ADD, local.sge(8),
                                target.address() + 4, target.mr->rkey);
  if (error != 0) {
    EXPECT_EQ(error, EINVAL);
  } else {
    expect_completion(left_->cq.get(), 1, IBV_WC_REM_INV_REQ_ERR);
  }
  EXPECT_EQ(target.bytes, std::vector<uint8_t>(kSize, 0));
}

TEST_F(RemoteAccess, ReceiveTooSmall) {
  connect();
  Memory local(left_->pd.get(), 4096);
  Memory target(right_->pd.get(), 4096);
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(2000)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(2001)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_REM_INV_REQ_ERR);
  expect_completion(right_->cq.get(), 5, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(state_of(left_->qp.get()), IBV_QPS_ERR);
  EXPECT_EQ(state_of(right_->qp.get()), IBV_QPS_ERR);
}

// The receiver's own buffer is bad: an operational error for the sender.
TEST_F(RemoteAccess, ReceiveWithABadLocalKey) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ibv_sge bad = target.sge(kSize);
  bad.lkey ^= 0x55555500;
  ASSERT_EQ(post_receive(right_->qp.get(), 5, bad), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(kSize)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_REM_OP_ERR);
  expect_completion(right_->cq.get(), 5, IBV_WC_LOC_PROT_ERR);
}

}  // namespace
}  // namespace rc_errors
