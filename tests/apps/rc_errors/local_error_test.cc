// SPDX-License-Identifier: BSD-2-Clause
// What the requester's own side refuses: bad local keys, and requests that ibv_post_send and
// ibv_post_recv reject.
#include <array>
#include <cerrno>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;

struct LocalError : PairTest {
  void expect_protection_error(ibv_sge sge) {
    ASSERT_EQ(post_send(left_->qp.get(), 1, sge), 0);
    ASSERT_EQ(post_send(left_->qp.get(), 2, sge), 0);
    expect_completion(left_->cq.get(), 1, IBV_WC_LOC_PROT_ERR);
    expect_completion(left_->cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(state_of(left_->qp.get()), IBV_QPS_ERR);
  }
};

TEST_F(LocalError, KeyOfNothing) {
  connect();
  Memory local(left_->pd.get(), kSize);
  ibv_sge sge = local.sge(kSize);
  sge.lkey ^= 0x55555500;
  expect_protection_error(sge);
}

TEST_F(LocalError, KeyOfAnotherProtectionDomain) {
  connect();
  Memory other(right_->pd.get(), kSize);
  expect_protection_error(other.sge(kSize));
}

TEST_F(LocalError, OutOfBounds) {
  connect();
  Memory local(left_->pd.get(), kSize);
  expect_protection_error(local.sge(kSize + 1));
}

TEST_F(LocalError, ReadIntoMemoryWithoutLocalWrite) {
  connect();
  Memory local(left_->pd.get(), kSize, 0);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_READ, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  expect_completion(left_->cq.get(), 1, IBV_WC_LOC_PROT_ERR);
}

// What was posted before the bad request completes first, and well.
TEST_F(LocalError, EarlierRequestsComplete) {
  connect();
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ibv_sge bad = local.sge(kSize);
  bad.lkey ^= 0x55555500;
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_READ, local.sge(kSize), target.address(),
                      target.mr->rkey),
            0);
  ASSERT_EQ(post_send(left_->qp.get(), 2, bad), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 3, local.sge(kSize)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  expect_completion(left_->cq.get(), 2, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_->cq.get(), 3, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(LocalError, TooManySgesNameTheBadRequest) {
  connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  const std::vector<ibv_sge> list(init.cap.max_send_sge + 1, local.sge(1));
  ibv_sge one = local.sge(1);
  std::array<ibv_send_wr, 3> requests{};
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].wr_id = i;
    requests[i].opcode = IBV_WR_RDMA_WRITE;
    requests[i].sg_list = &one;
    requests[i].num_sge = 1;
    requests[i].wr.rdma = {target.address(), target.mr->rkey};
    requests[i].next = i + 1 < requests.size() ? &requests[i + 1] : nullptr;
  }
  requests[1].sg_list = const_cast<ibv_sge*>(list.data());
  requests[1].num_sge = static_cast<int>(list.size());
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(left_->qp.get(), requests.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &requests[1]);
  // The request before it was posted.
  expect_completion(left_->cq.get(), 0, IBV_WC_SUCCESS);
}

TEST_F(LocalError, TooManySgesInAReceive) {
  connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory local(left_->pd.get(), kSize);
  std::vector<ibv_sge> list(init.cap.max_recv_sge + 1, local.sge(1));
  ibv_recv_wr request{};
  request.sg_list = list.data();
  request.num_sge = static_cast<int>(list.size());
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(left_->qp.get(), &request, &bad), EINVAL);
  EXPECT_EQ(bad, &request);
}

TEST_F(LocalError, InlineDataTooLong) {
  connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory local(left_->pd.get(), init.cap.max_inline_data + 1);
  EXPECT_EQ(post_send(left_->qp.get(), 1, local.sge(init.cap.max_inline_data + 1), IBV_SEND_INLINE),
            EINVAL);
}

// An opcode that RC does not have.
TEST_F(LocalError, ForeignOpcode) {
  connect();
  Memory local(left_->pd.get(), kSize);
  EXPECT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_TSO, local.sge(8), 0, 0), EINVAL);
}

TEST_F(LocalError, SendQueueOverflow) {
  // No receive and a long RNR timer: nothing leaves the queue.
  Settings settings;
  settings.min_rnr_timer = 0;  // 655.36 ms
  connect(settings);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory local(left_->pd.get(), kSize);
  for (uint32_t i = 0; i < init.cap.max_send_wr; ++i)
    ASSERT_EQ(post_send(left_->qp.get(), i, local.sge(8)), 0) << i;
  EXPECT_EQ(post_send(left_->qp.get(), 0, local.sge(8)), ENOMEM);
}

// A place in the send queue is taken until its completion has been polled: a completion queue as
// large as the send queue cannot overflow.
TEST_F(LocalError, SendQueueIsFullUntilPolled) {
  connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(left_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(8)), 0);
  for (uint32_t i = 1; i < init.cap.max_send_wr; ++i)
    ASSERT_EQ(post_rdma(left_->qp.get(), i, IBV_WR_RDMA_WRITE, local.sge(0), 0, 0), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 0, local.sge(8)), 0);
  expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
  // Some attempts while it is acknowledged, and some after that.
  constexpr int kAttempts = 100;
  const auto expect_full = [&] {
    for (int i = 0; i < kAttempts; ++i) {
      ASSERT_EQ(post_send(left_->qp.get(), 99, local.sge(8)), ENOMEM);
    }
  };
  expect_full();
  // What the other side reads the second time comes behind its ACK.
  for (uint64_t read : {6, 7}) {
    ASSERT_EQ(post_rdma(right_->qp.get(), read, IBV_WR_RDMA_READ, target.sge(8), local.address(),
                        local.mr->rkey),
              0);
    expect_completion(right_->cq.get(), read, IBV_WC_SUCCESS);
  }
  expect_full();
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(post_rdma(left_->qp.get(), 99, IBV_WR_RDMA_WRITE, local.sge(0), 0, 0), 0);
}

TEST_F(LocalError, ReceiveQueueOverflow) {
  connect();
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(right_->qp.get(), &attr, IBV_QP_CAP, &init), 0);
  Memory target(right_->pd.get(), kSize);
  for (uint32_t i = 0; i < init.cap.max_recv_wr; ++i)
    ASSERT_EQ(post_receive(right_->qp.get(), i, target.sge(8)), 0) << i;
  EXPECT_EQ(post_receive(right_->qp.get(), 0, target.sge(8)), ENOMEM);
}

TEST_F(LocalError, CompletionQueueOverflowIsAnEvent) {
  Settings settings;
  settings.cq_entries = 1;
  Side narrow(context_.get(), settings);
  settings.send_entries = static_cast<uint32_t>(narrow.cq->cqe) + 8;
  Side left(context_.get(), settings);
  Side right(context_.get(), Settings{});
  ASSERT_LT(static_cast<uint32_t>(left.cq->cqe), settings.send_entries);
  to_rts(left.qp.get(), settings, gid_, right.qp->qp_num);
  to_rts(right.qp.get(), settings, gid_, left.qp->qp_num);
  Memory local(left.pd.get(), kSize);
  for (uint32_t i = 0; i < settings.send_entries; ++i)
    ASSERT_EQ(post_rdma(left.qp.get(), i, IBV_WR_RDMA_WRITE, local.sge(0), 0, 0), 0);
  expect_event(context_.get(), IBV_EVENT_CQ_ERR);
}

TEST_F(LocalError, PostingNeedsTheRightState) {
  const Settings settings;
  Side side(context_.get(), settings);
  Memory memory(side.pd.get(), kSize);
  EXPECT_EQ(post_send(side.qp.get(), 1, memory.sge(8)), EINVAL) << "RESET";
  EXPECT_EQ(post_receive(side.qp.get(), 1, memory.sge(8)), EINVAL) << "RESET";
  ASSERT_EQ(modify(side.qp.get(), init_attributes(settings), kInitMask), 0);
  EXPECT_EQ(post_send(side.qp.get(), 1, memory.sge(8)), EINVAL) << "INIT";
  EXPECT_EQ(post_receive(side.qp.get(), 2, memory.sge(8)), 0) << "INIT";
  ASSERT_EQ(modify_state(side.qp.get(), IBV_QPS_ERR), 0);
  expect_completion(side.cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(post_send(side.qp.get(), 3, memory.sge(8)), 0) << "ERR";
  expect_completion(side.cq.get(), 3, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(post_receive(side.qp.get(), 4, memory.sge(8)), 0) << "ERR";
  expect_completion(side.cq.get(), 4, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace rc_errors
