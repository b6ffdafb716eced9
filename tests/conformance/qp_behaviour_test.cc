// SPDX-License-Identifier: BSD-2-Clause
// What each state does with requests that are posted and with packets that arrive.
#include "tests/conformance/support/fixture.h"
#include "tests/conformance/support/transitions.h"

namespace conformance::qp_behaviour_test {
namespace {

constexpr uint32_t kSize = 64;

struct QpBehaviour : PairConformance {
  void prepare(const QpConfig& config = {}) {
    make_pair(config, config);
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, kSize);
    remote_ = std::make_unique<Buffer>(right_->pd, kSize);
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  int send(ibv_qp* qp, const Buffer& buffer, uint64_t id = 1) {
    return Send(id).data(buffer.sge(0, 8)).post(qp);
  }
  int receive(ibv_qp* qp, const Buffer& buffer, uint64_t id = 2) {
    return Recv(id).data(buffer.sge()).post(qp);
  }
  /// The left side, in RTS and impatient, sends to the right side, which must not notice.
  void expect_silence(ibv_qp_state state) {
    bring_to(*right_, state);
    const ibv_qp_state before = state_of(right_qp());
    ASSERT_EQ(send(left_qp(), *local_), 0);
    expect_completion(left_done(), 1, IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(state_of(right_qp()), before);
  }

  std::unique_ptr<Buffer> local_;
  std::unique_ptr<Buffer> remote_;
};

TEST_F(QpBehaviour, ResetRefusesAllRequests) {
  checks("IBTA 10.3.1.1; ibv_post_send(3), ibv_post_recv(3)");
  prepare();
  if (stopped()) return;
  EXPECT_EQ(send(left_qp(), *local_), EINVAL);
  EXPECT_EQ(receive(left_qp(), *local_), EINVAL);
}

TEST_F(QpBehaviour, InitTakesReceivesOnly) {
  checks("IBTA 10.3.1.2; ibv_post_send(3), ibv_post_recv(3)");
  prepare();
  if (stopped()) return;
  bring_to(*left_, IBV_QPS_INIT);
  EXPECT_EQ(send(left_qp(), *local_), EINVAL);
  EXPECT_EQ(receive(left_qp(), *local_), 0);
  expect_empty(left_received());
}

TEST_F(QpBehaviour, RtrTakesReceivesOnly) {
  checks("IBTA 10.3.1.3; ibv_post_send(3), ibv_post_recv(3)");
  prepare();
  if (stopped()) return;
  bring_to(*left_, IBV_QPS_RTR);
  EXPECT_EQ(send(left_qp(), *local_), EINVAL);
  EXPECT_EQ(receive(left_qp(), *local_), 0);
}

TEST_F(QpBehaviour, RefusedRequestIsNamed) {
  checks("ibv_post_send(3): bad_wr");
  prepare();
  if (stopped()) return;
  Send first(1);
  Send second(2);
  first.wr()->next = second.wr();
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(left_qp(), first.wr(), &bad), EINVAL);
  EXPECT_EQ(bad->wr_id, 1U);
}

TEST_F(QpBehaviour, ResetDropsIncomingPackets) {
  checks("IBTA 10.3.1.1: incoming packets are silently dropped");
  prepare(impatient());
  if (stopped()) return;
  left_->connect_to(right_->number());
  expect_silence(IBV_QPS_RESET);
}

TEST_F(QpBehaviour, InitDropsIncomingPackets) {
  checks("IBTA 10.3.1.2: incoming packets are silently dropped");
  prepare(impatient());
  if (stopped()) return;
  left_->connect_to(right_->number());
  ASSERT_EQ(to_init(device_, right_qp(), right_->config), 0);
  ASSERT_EQ(receive(right_qp(), *remote_), 0);
  ASSERT_EQ(send(left_qp(), *local_), 0);
  expect_completion(left_done(), 1, IBV_WC_RETRY_EXC_ERR);
  expect_empty(right_received());
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_INIT);
}

TEST_F(QpBehaviour, ErrDropsIncomingPackets) {
  checks("IBTA 10.3.1.7: incoming packets are silently dropped");
  prepare(impatient());
  if (stopped()) return;
  left_->connect_to(right_->number());
  expect_silence(IBV_QPS_ERR);
  expect_empty(right_received());
}

TEST_F(QpBehaviour, RtrReceivesAndAnswers) {
  checks("IBTA 10.3.1.3; ibv_get_async_event(3): IBV_EVENT_COMM_EST");
  prepare();
  if (stopped()) return;
  left_->connect_to(right_->number());
  ASSERT_EQ(to_init(device_, right_qp(), right_->config), 0);
  ASSERT_EQ(receive(right_qp(), *remote_), 0);
  ASSERT_EQ(to_rtr(device_, right_qp(), right_->config, left_->number()), 0);
  ASSERT_EQ(send(left_qp(), *local_), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_COMM_EST).element.qp, right_qp());
  EXPECT_EQ(to_rts(right_qp(), right_->config), 0);
}

TEST_F(QpBehaviour, RtsHasNoCommunicationEstablishedEvent) {
  checks("ibv_get_async_event(3): IBV_EVENT_COMM_EST is for a queue pair in RTR");
  connect_pair();
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  ASSERT_EQ(receive(right_qp(), remote), 0);
  ASSERT_EQ(send(left_qp(), local), 0);
  expect_completion(right_received(), 2);
  expect_completion(left_done(), 1);
  expect_no_event(context());
}

TEST_F(QpBehaviour, ErrFlushesInOrder) {
  checks("IBTA 10.3.1.7: all requests complete with Flushed, in order");
  prepare();
  if (stopped()) return;
  QpConfig slow = left_->config;
  slow.timeout = 0;  // waits for ever
  left_->config = slow;
  left_->connect_to(right_->number());
  for (uint64_t id = 10; id < 15; ++id) ASSERT_EQ(receive(left_qp(), *local_, id), 0);
  for (uint64_t id = 1; id < 6; ++id) ASSERT_EQ(send(left_qp(), *local_, id), 0);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_ERR), 0);
  for (uint64_t id = 1; id < 6; ++id) expect_completion(left_done(), id, IBV_WC_WR_FLUSH_ERR);
  for (uint64_t id = 10; id < 15; ++id) expect_completion(left_received(), id, IBV_WC_WR_FLUSH_ERR);
  expect_empty(left_done());
  expect_empty(left_received());
}

TEST_F(QpBehaviour, ErrFlushesWhatIsPostedThen) {
  checks("IBTA 10.3.1.7; ibv_post_send(3), ibv_post_recv(3)");
  prepare();
  if (stopped()) return;
  bring_to(*left_, IBV_QPS_ERR);
  EXPECT_EQ(send(left_qp(), *local_, 3), 0);
  const ibv_wc sent = expect_completion(left_done(), 3, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(sent.qp_num, left_->number());
  EXPECT_EQ(receive(left_qp(), *local_, 4), 0);
  const ibv_wc received = expect_completion(left_received(), 4, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(received.qp_num, left_->number());
}

TEST_F(QpBehaviour, ErrCompletesUnsignaledRequestsToo) {
  checks("IBTA 10.3.1.7: flushed requests always complete");
  QpConfig unsignaled;
  unsignaled.sq_sig_all = 0;
  prepare(unsignaled);
  if (stopped()) return;
  bring_to(*left_, IBV_QPS_ERR);
  EXPECT_EQ(send(left_qp(), *local_, 3), 0);
  expect_completion(left_done(), 3, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(QpBehaviour, ResetForgetsRequests) {
  checks("IBTA 10.3.1.1: the queues are empty, nothing completes");
  prepare();
  if (stopped()) return;
  bring_to(*left_, IBV_QPS_INIT);
  ASSERT_EQ(receive(left_qp(), *local_), 0);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_RESET), 0);
  expect_empty(left_received());
  // The receive queue has all its places again.
  bring_to(*left_, IBV_QPS_INIT);
  const uint32_t places = query(left_qp()).cap.max_recv_wr;
  for (uint32_t i = 0; i < places; ++i) ASSERT_EQ(receive(left_qp(), *local_, i), 0) << i;
}

TEST_F(QpBehaviour, AnotherLifeAfterReset) {
  checks("ibv_modify_qp(3): from any state to RESET, and connected again");
  connect_pair(impatient());
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  Buffer remote(right_->pd, kSize);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_ERR), 0);
  for (const auto* side : {left_.get(), right_.get()})
    ASSERT_EQ(to_state(side->qp.get(), IBV_QPS_RESET), 0);
  left_->connect_to(right_->number());
  right_->connect_to(left_->number());
  ASSERT_EQ(receive(right_qp(), remote), 0);
  ASSERT_EQ(send(left_qp(), local), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
}

TEST_F(QpBehaviour, SqdHoldsBackNewRequests) {
  checks("IBTA 10.3.1.5: requests posted in SQD wait for RTS");
  connect_pair();
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  ASSERT_EQ(receive(right_qp(), remote), 0);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_SQD), 0);
  ASSERT_EQ(send(left_qp(), local), 0);
  // What the right side sends now goes there and back: ours would have come before.
  const Buffer inbox(left_->pd, kSize);
  ASSERT_EQ(receive(left_qp(), inbox, 7), 0);
  ASSERT_EQ(send(right_qp(), remote, 8), 0);
  expect_completion(left_received(), 7);
  expect_completion(right_done(), 8);
  expect_empty(right_received());
  expect_empty(left_done());
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_RTS), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
}

TEST_F(QpBehaviour, SqdTakesAnotherFlowLabel) {
  checks("ibv_modify_qp(3): SQD to SQD with IBV_QP_AV; the peer may see another UDP source port");
  connect_pair();
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  for (const uint32_t label : {0x54321U, 0x12345U, 0U}) {
    ASSERT_EQ(receive(right_qp(), remote), 0);
    ASSERT_EQ(send(left_qp(), local), 0);
    expect_completion(left_done(), 1);
    expect_completion(right_received(), 2);
    ASSERT_EQ(to_state(left_qp(), IBV_QPS_SQD), 0);
    ASSERT_TRUE(eventually([&] { return query(left_qp()).sq_draining == 0; }));
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_SQD;
    attr.ah_attr = device_.own_address();
    attr.ah_attr.grh.flow_label = label;
    ASSERT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_STATE | IBV_QP_AV), 0);
    ASSERT_EQ(to_state(left_qp(), IBV_QPS_RTS), 0);
  }
  ASSERT_EQ(receive(right_qp(), remote), 0);
  ASSERT_EQ(send(left_qp(), local), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
}

TEST_F(QpBehaviour, SqdFinishesWhatIsOutstanding) {
  checks("IBTA 10.3.1.5; ibv_query_qp(3): sq_draining");
  QpConfig patient;
  patient.min_rnr_timer = 1;
  connect_pair(patient);
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  // No receive yet: once the SEND has begun, it is outstanding.
  ASSERT_EQ(send(left_qp(), local), 0);
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_SQD), 0);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_SQD);
  const bool had_begun = query(left_qp()).sq_draining != 0;
  ASSERT_EQ(receive(right_qp(), remote), 0);
  EXPECT_TRUE(eventually([&] { return query(left_qp()).sq_draining == 0; }));
  // One that had not begun waits for RTS.
  if (!had_begun) {
    ASSERT_EQ(to_state(left_qp(), IBV_QPS_RTS), 0);
  }
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
}

TEST_F(QpBehaviour, SqdGivesAnEventOnceDrained) {
  checks("ibv_modify_qp(3): en_sqd_async_notify; ibv_get_async_event(3): IBV_EVENT_SQ_DRAINED");
  connect_pair();
  if (stopped()) return;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(left_qp(), &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  EXPECT_EQ(expect_event(context(), IBV_EVENT_SQ_DRAINED).element.qp, left_qp());
}

TEST_F(QpBehaviour, SqdGivesNoEventUnasked) {
  checks("ibv_modify_qp(3): en_sqd_async_notify");
  connect_pair();
  if (stopped()) return;
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_SQD), 0);
  ASSERT_TRUE(eventually([&] { return query(left_qp()).sq_draining == 0; }));
  expect_no_event(context());
}

TEST_F(QpBehaviour, UcSqeFlushesSendsAndGoesOnReceiving) {
  checks("IBTA 10.3.1.6: Send Queue Error");
  QpConfig uc;
  uc.type = IBV_QPT_UC;
  connect_pair(uc);
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  ASSERT_EQ(receive(left_qp(), local, 20), 0);
  ASSERT_EQ(Send(1).data({0x1000, 8, 0x12345678}).post(left_qp()), 0);
  ASSERT_EQ(send(left_qp(), local, 2), 0);
  expect_completion(left_done(), 1, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_done(), 2, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_SQE);
  ASSERT_EQ(send(left_qp(), local, 3), 0);
  expect_completion(left_done(), 3, IBV_WC_WR_FLUSH_ERR);
  ASSERT_EQ(send(right_qp(), remote, 4), 0);
  expect_completion(left_received(), 20);
  // And back.
  ASSERT_EQ(to_state(left_qp(), IBV_QPS_RTS), 0);
  ASSERT_EQ(receive(right_qp(), remote, 21), 0);
  ASSERT_EQ(send(left_qp(), local, 5), 0);
  expect_completion(left_done(), 5);
  expect_completion(right_received(), 21);
}

TEST_F(QpBehaviour, RcHasNoSqe) {
  checks("IBTA 10.3.1.6: SQE is not for RC: a local error takes it to ERR");
  connect_pair();
  if (stopped()) return;
  ASSERT_EQ(Send(1).data({0x1000, 8, 0x12345678}).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_ERR);
  EXPECT_EQ(to_state(left_qp(), IBV_QPS_RTS), EINVAL);
}

TEST_F(QpBehaviour, DestroyedUnderFire) {
  checks("ibv_create_qp(3): ibv_destroy_qp() at any time");
  connect_pair(impatient());
  if (stopped()) return;
  const Buffer local(left_->pd, kSize);
  const Buffer remote(right_->pd, kSize);
  for (uint64_t id = 0; id < 8; ++id) ASSERT_EQ(receive(right_qp(), remote, id), 0);
  for (uint64_t id = 0; id < 16; ++id) ASSERT_EQ(send(left_qp(), local, id), 0);
  right_->qp.reset();
  // Some were received; the rest ends with the retries.
  ibv_wc wc{};
  for (uint64_t id = 0; id < 16; ++id) {
    wc = next_completion(left_done());
    EXPECT_EQ(wc.wr_id, id);
  }
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace
}  // namespace conformance::qp_behaviour_test
