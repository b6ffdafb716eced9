// SPDX-License-Identifier: BSD-2-Clause
// Completion events and asynchronous events.
#include <cerrno>

#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;
constexpr int kEventMs = 30000;

struct Events : PairTest {
  void SetUp() override {
    PairTest::SetUp();
    if (HasFatalFailure()) return;
    channel_.reset(ibv_create_comp_channel(context_.get()));
    ASSERT_NE(channel_, nullptr);
    left_ = std::make_unique<Side>(context_.get(), settings_);
    right_ = std::make_unique<Side>(context_.get(), settings_, channel_.get());
  }

  void TearDown() override {
    // Completion queues go before their channel.
    left_.reset();
    right_.reset();
  }

  void connect_both() {
    to_rts(left_->qp.get(), settings_, gid_, right_->qp->qp_num);
    to_rts(right_->qp.get(), settings_, gid_, left_->qp->qp_num);
  }

  // Sends one message and takes both completions.
  void exchange(uint32_t flags) {
    Memory local(left_->pd.get(), kSize);
    Memory target(right_->pd.get(), kSize);
    ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(kSize)), 0);
    ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(8), flags), 0);
    expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
    expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
  }

  void expect_completion_event() {
    ASSERT_TRUE(readable(channel_->fd, kEventMs)) << "no completion event came";
    ibv_cq* cq = nullptr;
    void* cq_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &cq_context), 0);
    EXPECT_EQ(cq, right_->cq.get());
    ibv_ack_cq_events(cq, 1);
  }

  ChannelPtr channel_;
};

TEST_F(Events, NoneWithoutARequest) {
  connect_both();
  exchange(IBV_SEND_SOLICITED);
  EXPECT_FALSE(readable(channel_->fd, 0));
}

TEST_F(Events, OneForOneRequest) {
  connect_both();
  ASSERT_EQ(ibv_req_notify_cq(right_->cq.get(), 0), 0);
  exchange(0);
  expect_completion_event();
  exchange(0);
  EXPECT_FALSE(readable(channel_->fd, 0));
}

TEST_F(Events, SolicitedOnly) {
  connect_both();
  ASSERT_EQ(ibv_req_notify_cq(right_->cq.get(), 1), 0);
  exchange(0);
  EXPECT_FALSE(readable(channel_->fd, 0));
  exchange(IBV_SEND_SOLICITED);
  expect_completion_event();
}

// An error completion counts as solicited.
TEST_F(Events, SolicitedOnlyWakesForAnError) {
  connect_both();
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(kSize)), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_->cq.get(), 1), 0);
  ASSERT_EQ(modify_state(right_->qp.get(), IBV_QPS_ERR), 0);
  expect_completion_event();
  expect_completion(right_->cq.get(), 5, IBV_WC_WR_FLUSH_ERR);
}

// A request for the next completion is not weakened by a later one for solicited completions.
TEST_F(Events, SolicitedRequestDoesNotReplaceAnyRequest) {
  connect_both();
  ASSERT_EQ(ibv_req_notify_cq(right_->cq.get(), 0), 0);
  ASSERT_EQ(ibv_req_notify_cq(right_->cq.get(), 1), 0);
  exchange(0);
  expect_completion_event();
}

TEST_F(Events, CommunicationEstablished) {
  to_rtr(right_->qp.get(), settings_, gid_, left_->qp->qp_num);
  to_rts(left_->qp.get(), settings_, gid_, right_->qp->qp_num);
  exchange(0);
  expect_event(context_.get(), IBV_EVENT_COMM_EST);
}

TEST_F(Events, SendQueueDrained) {
  connect_both();
  exchange(0);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_EQ(modify(left_->qp.get(), attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  expect_event(context_.get(), IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(state_of(left_->qp.get()), IBV_QPS_SQD);
  // What is posted now waits for RTS.
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(kSize)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 2, local.sge(8)), 0);
  ibv_wc none{};
  EXPECT_EQ(ibv_poll_cq(right_->cq.get(), 1, &none), 0);
  ASSERT_EQ(modify_state(left_->qp.get(), IBV_QPS_RTS), 0);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace rc_errors
