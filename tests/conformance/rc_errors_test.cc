// SPDX-License-Identifier: BSD-2-Clause
// RC: the faults of requester and responder, and the requests that are refused at once.
#include <array>

#include "tests/conformance/support/fixture.h"

namespace conformance::rc_errors_test {
namespace {

constexpr uint32_t kSize = 4096;

struct RcErrors : PairConformance {
  void start(const QpConfig& left = {}, const QpConfig& right = {}) {
    connect_pair(left, right);
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, kSize);
    remote_ = std::make_unique<Buffer>(right_->pd, kSize);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  ibv_qp_cap granted() const { return query(left_qp()).cap; }

  /// The request fails so, what follows it is flushed, the queue pair is in ERR.
  void expect_fatal(Send request, ibv_wc_status status) {
    ASSERT_EQ(request.post(left_qp()), 0);
    ASSERT_EQ(Send(99).data(local_->sge(0, 8)).post(left_qp()), 0);
    const ibv_wc wc = next_completion(left_done());
    EXPECT_EQ(wc.status, status) << ibv_wc_status_str(wc.status) << ", expected "
                                 << ibv_wc_status_str(status);
    EXPECT_EQ(wc.qp_num, left_->number());
    expect_completion(left_done(), 99, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(state_of(left_qp()), IBV_QPS_ERR);
  }
  /// A remote error at a responder that has the memory `remote_`: the responder learns of it, too.
  void expect_remote(Send request, ibv_wc_status status, ibv_event_type event) {
    expect_fatal(std::move(request), status);
    EXPECT_EQ(expect_event(context(), event).element.qp, right_qp());
    EXPECT_EQ(state_of(right_qp()), IBV_QPS_ERR);
  }
  Send write(uint64_t address, uint32_t rkey) {
    Send request(1, IBV_WR_RDMA_WRITE);
    request.data(local_->sge(0, 64)).remote(address, rkey);
    return request;
  }
  Send read(uint64_t address, uint32_t rkey) {
    Send request(1, IBV_WR_RDMA_READ);
    request.data(local_->sge(0, 64)).remote(address, rkey);
    return request;
  }
  Send add(uint64_t address, uint32_t rkey) {
    Send request(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
    request.data(local_->sge(0, 8)).atomic(address, rkey, 1);
    return request;
  }

  std::unique_ptr<Buffer> local_;
  std::unique_ptr<Buffer> remote_;
};

TEST_F(RcErrors, WriteWithAnUnknownKey) {
  checks("IBTA 9.7.5.2.5, 11.6.3.1: remote access error; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(write(remote_->address(), remote_->rkey() ^ 0x5500), IBV_WC_REM_ACCESS_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(remote_->bytes[1], 0);
}

TEST_F(RcErrors, WriteBeyondTheRegion) {
  checks("IBTA 9.7.5.2.5: remote access error; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(write(remote_->address(kSize - 63), remote_->rkey()), IBV_WC_REM_ACCESS_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(remote_->bytes[kSize - 1], 0);
}

TEST_F(RcErrors, ReadWithAnUnknownKey) {
  checks("IBTA 9.7.5.2.5: remote access error; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(read(remote_->address(), remote_->rkey() ^ 0x5500), IBV_WC_REM_ACCESS_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(RcErrors, ReadBeyondTheRegion) {
  checks("IBTA 9.7.5.2.5: remote access error; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(read(remote_->address(kSize - 1), remote_->rkey()), IBV_WC_REM_ACCESS_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(RcErrors, AtomicWithAnUnknownKey) {
  checks("IBTA 9.7.5.2.5: remote access error; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(add(remote_->address(), remote_->rkey() ^ 0x5500), IBV_WC_REM_ACCESS_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(RcErrors, UnalignedAtomic) {
  checks("IBTA 9.4.5, 9.7.5.2.4: NAK invalid request; IBV_EVENT_QP_ACCESS_ERR");
  start();
  if (stopped()) return;
  expect_remote(add(remote_->address(4), remote_->rkey()), IBV_WC_REM_INV_REQ_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(remote_->bytes[4], 0);
}

TEST_F(RcErrors, ReadNotEnabledInTheQueuePair) {
  checks("ibv_modify_qp(3): qp_access_flags; IBTA 9.7.4.1.3: invalid request");
  QpConfig closed;
  closed.access = IBV_ACCESS_REMOTE_WRITE;
  start({}, closed);
  if (stopped()) return;
  expect_remote(read(remote_->address(), remote_->rkey()), IBV_WC_REM_INV_REQ_ERR,
                IBV_EVENT_QP_REQ_ERR);
}

TEST_F(RcErrors, WriteNotEnabledInTheQueuePair) {
  checks("ibv_modify_qp(3): qp_access_flags; IBTA 9.7.4.1.3: invalid request");
  QpConfig closed;
  closed.access = IBV_ACCESS_REMOTE_READ;
  start({}, closed);
  if (stopped()) return;
  expect_remote(write(remote_->address(), remote_->rkey()), IBV_WC_REM_INV_REQ_ERR,
                IBV_EVENT_QP_REQ_ERR);
  EXPECT_EQ(remote_->bytes[1], 0);
}

TEST_F(RcErrors, AtomicNotEnabledInTheQueuePair) {
  checks("ibv_modify_qp(3): qp_access_flags; IBTA 9.7.4.1.3: invalid request");
  QpConfig closed;
  closed.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  start({}, closed);
  if (stopped()) return;
  expect_remote(add(remote_->address(), remote_->rkey()), IBV_WC_REM_INV_REQ_ERR,
                IBV_EVENT_QP_REQ_ERR);
}

TEST_F(RcErrors, NoResponderResources) {
  checks("ibv_modify_qp(3): max_dest_rd_atomic of 0; IBTA 9.7.4.1.2: invalid request");
  QpConfig none;
  none.rd_atomic = 0;
  start({}, none);
  if (stopped()) return;
  expect_remote(read(remote_->address(), remote_->rkey()), IBV_WC_REM_INV_REQ_ERR,
                IBV_EVENT_QP_ACCESS_ERR);
}

TEST_F(RcErrors, ReceiveBufferTooSmall) {
  checks("IBTA 9.7.4.1.6, table 60: invalid request, local length error at the responder");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge(0, 100)).post(right_qp()), 0);
  ASSERT_EQ(Recv(3).data(remote_->sge()).post(right_qp()), 0);
  Send request(1);
  request.data(local_->sge(0, 101));
  expect_fatal(std::move(request), IBV_WC_REM_INV_REQ_ERR);
  expect_completion(right_received(), 2, IBV_WC_LOC_LEN_ERR);
  expect_completion(right_received(), 3, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_ERR);
  EXPECT_EQ(remote_->bytes[100], 0);
}

TEST_F(RcErrors, ReceiveBufferTooSmallForManyPackets) {
  checks("IBTA 9.7.4.1.6, table 60: invalid request, local length error at the responder");
  start();
  if (stopped()) return;
  ASSERT_EQ(Recv(2).data(remote_->sge(0, 2000)).post(right_qp()), 0);
  Send request(1);
  request.data(local_->sge(0, 4000));
  expect_fatal(std::move(request), IBV_WC_REM_INV_REQ_ERR);
  expect_completion(right_received(), 2, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(remote_->bytes[2000], 0);
}

TEST_F(RcErrors, ReceiveWithABadKey) {
  checks("IBTA 9.7.5.2.6: remote operational error, local protection error at the responder");
  start();
  if (stopped()) return;
  ibv_sge bad = remote_->sge();
  bad.lkey ^= 0x5500;
  ASSERT_EQ(Recv(2).data(bad).post(right_qp()), 0);
  Send request(1);
  request.data(local_->sge(0, 101));
  expect_fatal(std::move(request), IBV_WC_REM_OP_ERR);
  expect_completion(right_received(), 2, IBV_WC_LOC_PROT_ERR);
}

TEST_F(RcErrors, SendWithABadLocalKey) {
  checks("IBTA 10.7.3.1, 11.6.2: local protection error");
  start();
  if (stopped()) return;
  Send request(1);
  request.data({local_->address(), 8, local_->mr->lkey ^ 0x5500});
  expect_fatal(std::move(request), IBV_WC_LOC_PROT_ERR);
}

TEST_F(RcErrors, SendBeyondTheLocalRegion) {
  checks("IBTA 11.6.2: local protection error");
  start();
  if (stopped()) return;
  Send request(1);
  request.data(local_->sge(1, kSize));
  expect_fatal(std::move(request), IBV_WC_LOC_PROT_ERR);
}

TEST_F(RcErrors, ReadIntoReadOnlyMemory) {
  checks("ibv_reg_mr(3): IBV_ACCESS_LOCAL_WRITE; IBTA 11.6.2: local protection error");
  start();
  if (stopped()) return;
  const Buffer constant(left_->pd, 64, 0);
  Send request(1, IBV_WR_RDMA_READ);
  request.data(constant.sge()).remote(remote_->address(), remote_->rkey());
  expect_fatal(std::move(request), IBV_WC_LOC_PROT_ERR);
}

TEST_F(RcErrors, WhatWasPostedBeforeCompletesWell) {
  checks("IBTA 10.7.3.1: requests complete in order; those before the faulty one succeed");
  start();
  if (stopped()) return;
  for (uint64_t id = 10; id < 15; ++id) {
    Send good(id, IBV_WR_RDMA_READ);
    good.data(local_->sge(0, 2000)).remote(remote_->address(), remote_->rkey());
    ASSERT_EQ(good.post(left_qp()), 0);
  }
  ASSERT_EQ(Send(20).data({0x1000, 8, 0x12345678}).post(left_qp()), 0);
  for (uint64_t id = 10; id < 15; ++id) expect_completion(left_done(), id);
  expect_completion(left_done(), 20, IBV_WC_LOC_PROT_ERR);
}

TEST_F(RcErrors, PeerThatIsNotThere) {
  checks("ibv_modify_qp(3): timeout, retry_cnt; IBTA 9.9.2.4.1: transport retry exceeded");
  make_pair(impatient(), QpConfig{});
  if (stopped()) return;
  local_ = std::make_unique<Buffer>(left_->pd, kSize);
  const uint32_t gone = right_->number();
  right_.reset();
  left_->connect_to(gone);
  Send request(1);
  request.data(local_->sge(0, 8));
  expect_fatal(std::move(request), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(RcErrors, PeerThatIsConnectedElsewhere) {
  checks("IBTA 9.6.1.5: a packet of another than the connected queue pair's address is dropped");
  make_pair(impatient(), QpConfig{});
  if (stopped()) return;
  local_ = std::make_unique<Buffer>(left_->pd, kSize);
  left_->connect_to(right_->number());
  Send request(1);
  request.data(local_->sge(0, 8));
  expect_fatal(std::move(request), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(RcErrors, ReceiverNeverReady) {
  checks("ibv_modify_qp(3): rnr_retry; IBTA 9.7.5.2.8: RNR retry exceeded");
  start(impatient());
  if (stopped()) return;
  Send request(1);
  request.data(local_->sge(0, 8));
  expect_fatal(std::move(request), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_RTS) << "the responder is unharmed";
}

TEST_F(RcErrors, NoRnrRetries) {
  checks("ibv_modify_qp(3): rnr_retry of 0");
  QpConfig none;
  none.rnr_retry = 0;
  start(none);
  if (stopped()) return;
  Send request(1, IBV_WR_SEND_WITH_IMM);
  request.imm(5);
  expect_fatal(std::move(request), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(RcErrors, FlushedReceivesOfTheFailedSide) {
  checks("IBTA 10.3.1.7: posted receives are flushed in order");
  start();
  if (stopped()) return;
  for (uint64_t id = 5; id < 8; ++id)
    ASSERT_EQ(Recv(id).data(local_->sge(0, 8)).post(left_qp()), 0);
  expect_fatal(write(remote_->address(), remote_->rkey() ^ 0x5500), IBV_WC_REM_ACCESS_ERR);
  for (uint64_t id = 5; id < 8; ++id) expect_completion(left_received(), id, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(RcErrors, TooManyElements) {
  checks("ibv_post_send(3), ibv_post_recv(3): num_sge, bad_wr");
  start();
  if (stopped()) return;
  Send send(1);
  for (uint32_t i = 0; i <= granted().max_send_sge; ++i) send.data(local_->sge(0, 1));
  ibv_send_wr* bad_send = nullptr;
  EXPECT_EQ(ibv_post_send(left_qp(), send.wr(), &bad_send), EINVAL);
  EXPECT_EQ(bad_send, send.wr());
  Recv receive(2);
  for (uint32_t i = 0; i <= granted().max_recv_sge; ++i) receive.data(local_->sge(0, 1));
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(left_qp(), receive.wr(), &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, receive.wr());
}

TEST_F(RcErrors, BadRequestInTheMiddleOfAList) {
  checks("ibv_post_send(3): bad_wr: what comes before it is posted, what comes after is not");
  start();
  if (stopped()) return;
  Send good(1, IBV_WR_RDMA_WRITE);
  Send bad(2, IBV_WR_RDMA_WRITE);
  Send never(3, IBV_WR_RDMA_WRITE);
  for (uint32_t i = 0; i <= granted().max_send_sge; ++i) bad.data(local_->sge(0, 1));
  good.wr()->next = bad.wr();
  bad.wr()->next = never.wr();
  ibv_send_wr* bad_wr = nullptr;
  EXPECT_EQ(ibv_post_send(left_qp(), good.wr(), &bad_wr), EINVAL);
  EXPECT_EQ(bad_wr, bad.wr());
  expect_completion(left_done(), 1);
  ASSERT_EQ(Send(4, IBV_WR_RDMA_WRITE).post(left_qp()), 0);
  expect_completion(left_done(), 4);
}

TEST_F(RcErrors, InlineDataTooLong) {
  checks("ibv_post_send(3): IBV_SEND_INLINE; ibv_create_qp(3): max_inline_data");
  start();
  if (stopped()) return;
  const uint32_t limit = granted().max_inline_data;
  const Buffer bytes(left_->pd, limit + 1);
  Send send(1);
  send.data(bytes.sge()).flags(IBV_SEND_INLINE);
  const int result = send.post(left_qp());
  EXPECT_TRUE(result == EINVAL || result == ENOMEM) << result;
}

TEST_F(RcErrors, InlineRead) {
  checks("ibv_post_send(3): IBV_SEND_INLINE is for SEND and RDMA WRITE");
  QpConfig config;
  config.cap.max_inline_data = 64;
  start(config);
  if (stopped()) return;
  if (!need_if_any(options().require_all, "a check of the flag")) return;
  Send request = read(remote_->address(), remote_->rkey());
  EXPECT_EQ(request.flags(IBV_SEND_INLINE).post(left_qp()), EINVAL);
}

TEST_F(RcErrors, OpcodeOfAnotherTransport) {
  checks("ibv_post_send(3): opcode");
  start();
  if (stopped()) return;
  EXPECT_EQ(Send(1, IBV_WR_TSO).data(local_->sge(0, 8)).post(left_qp()), EINVAL);
}

TEST_F(RcErrors, SendQueueOverflow) {
  checks("ibv_post_send(3): ENOMEM where the queue is full; IBTA 10.8.3");
  QpConfig patient;
  patient.min_rnr_timer = 0;  // 655 ms
  start({}, patient);
  if (stopped()) return;
  const uint32_t places = granted().max_send_wr;
  for (uint32_t i = 0; i < places; ++i)
    ASSERT_EQ(Send(i).data(local_->sge(0, 8)).post(left_qp()), 0) << i;
  EXPECT_EQ(Send(places).data(local_->sge(0, 8)).post(left_qp()), ENOMEM);
}

TEST_F(RcErrors, ReceiveQueueOverflow) {
  checks("ibv_post_recv(3): ENOMEM where the queue is full");
  start();
  if (stopped()) return;
  const uint32_t places = granted().max_recv_wr;
  for (uint32_t i = 0; i < places; ++i) ASSERT_EQ(Recv(i).post(left_qp()), 0) << i;
  EXPECT_EQ(Recv(places).post(left_qp()), ENOMEM);
}

TEST_F(RcErrors, UnsignaledRequestsFreeTheirPlacesWithTheNextSignaled) {
  checks("ibv_post_send(3): IBV_SEND_SIGNALED; IBTA 10.8.3.1");
  QpConfig unsignaled;
  unsignaled.sq_sig_all = 0;
  start(unsignaled);
  if (stopped()) return;
  const uint32_t places = granted().max_send_wr;
  for (int round = 0; round < 5; ++round) {
    for (uint32_t i = 0; i + 1 < places; ++i)
      ASSERT_EQ(Send(i, IBV_WR_RDMA_WRITE).post(left_qp()), 0) << round << " " << i;
    Send last(1000, IBV_WR_RDMA_WRITE);
    ASSERT_EQ(last.flags(IBV_SEND_SIGNALED).post(left_qp()), 0);
    expect_completion(left_done(), 1000);
  }
  expect_empty(left_done());
}

}  // namespace
}  // namespace conformance::rc_errors_test
