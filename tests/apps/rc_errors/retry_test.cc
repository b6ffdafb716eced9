// SPDX-License-Identifier: BSD-2-Clause
// Receivers that are not ready and peers that do not answer.
#include "pair.h"

namespace rc_errors {
namespace {

constexpr uint32_t kSize = 64;
using Retry = PairTest;

TEST_F(Retry, ReceiverNeverReady) {
  Settings settings;
  settings.rnr_retry = 1;
  connect(settings);
  Memory local(left_->pd.get(), kSize);
  ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(8)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 2, local.sge(8)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_RNR_RETRY_EXC_ERR);
  expect_completion(left_->cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(left_->qp.get()), IBV_QPS_ERR);
  // The receiver has done nothing wrong.
  EXPECT_EQ(state_of(right_->qp.get()), IBV_QPS_RTS);
}

TEST_F(Retry, RnrRetrySevenIsForEver) {
  Settings settings;
  settings.rnr_retry = 7;
  settings.min_rnr_timer = 12;  // 0.64 ms
  connect(settings);
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(8)), 0);
  // Long enough for many more than seven retries.
  ibv_wc none{};
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(readable(context_->async_fd, 1));
    ASSERT_EQ(ibv_poll_cq(left_->cq.get(), 1, &none), 0);
  }
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(8)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
}

TEST_F(Retry, PeerDestroyed) {
  Settings settings;
  settings.timeout = 8;  // 1 ms
  settings.retry_count = 2;
  connect(settings);
  Memory local(left_->pd.get(), kSize);
  right_->qp.reset();
  for (uint64_t id : {1, 2, 3}) ASSERT_EQ(post_send(left_->qp.get(), id, local.sge(8)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_RETRY_EXC_ERR);
  expect_completion(left_->cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
  expect_completion(left_->cq.get(), 3, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(left_->qp.get()), IBV_QPS_ERR);
}

// A queue pair that failed works again after RESET and a new connection.
TEST_F(Retry, ReconnectAfterFailure) {
  Settings settings;
  settings.rnr_retry = 0;
  connect(settings);
  Memory local(left_->pd.get(), kSize);
  Memory target(right_->pd.get(), kSize);
  ASSERT_EQ(post_send(left_->qp.get(), 1, local.sge(8)), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_RNR_RETRY_EXC_ERR);
  settings.psn = 0x1234;
  for (Side* side : {left_.get(), right_.get()})
    ASSERT_EQ(modify_state(side->qp.get(), IBV_QPS_RESET), 0);
  to_rts(left_->qp.get(), settings, gid_, right_->qp->qp_num);
  to_rts(right_->qp.get(), settings, gid_, left_->qp->qp_num);
  local.bytes[3] = 0xa5;
  ASSERT_EQ(post_receive(right_->qp.get(), 5, target.sge(8)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 2, local.sge(8)), 0);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  expect_completion(right_->cq.get(), 5, IBV_WC_SUCCESS);
  EXPECT_EQ(target.bytes[3], 0xa5);
}

}  // namespace
}  // namespace rc_errors
