// SPDX-License-Identifier: BSD-2-Clause
// UC: operations, and what is lost without a word.
#include <arpa/inet.h>

#include <array>

#include "tests/conformance/support/fixture.h"

namespace conformance::uc_test {
namespace {

constexpr std::array<uint32_t, 9> kSizes{0, 1, 3, 1023, 1024, 1025, 4096, 8193, 65536};
constexpr uint32_t kLargest = kSizes.back();

struct Uc : PairConformance {
  void start(QpConfig left = {}, QpConfig right = {}) {
    left.type = right.type = IBV_QPT_UC;
    connect_pair(left, right);
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, kLargest);
    remote_ = std::make_unique<Buffer>(right_->pd, kLargest);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  void next_pattern(uint8_t seed) {
    local_->fill_pattern(seed);
    std::fill(remote_->bytes.begin(), remote_->bytes.end(), uint8_t{0});
  }
  bool same(uint32_t size) const {
    return std::memcmp(local_->bytes.data(), remote_->bytes.data(), size) == 0;
  }
  /// Nothing has reached the beginning of the other end's memory, though all that was sent before
  /// has been dealt with: the completion of a send does not tell that.
  void expect_untouched() {
    ASSERT_EQ(Recv(51).data(remote_->sge(1024, 16)).post(right_qp()), 0);
    expect_next_message(51);
    EXPECT_TRUE(std::all_of(remote_->bytes.begin(), remote_->bytes.begin() + 100,
                            [](uint8_t byte) { return byte == 0; }));
  }
  /// The path still works, and all that was sent before has been dealt with.
  void expect_next_message(uint64_t id) {
    ASSERT_EQ(Send(50).data(local_->sge(0, 16)).post(left_qp()), 0);
    expect_completion(left_done(), 50);
    EXPECT_EQ(expect_completion(right_received(), id).byte_len, 16U);
  }

  std::unique_ptr<Buffer> local_;
  std::unique_ptr<Buffer> remote_;
};

TEST_F(Uc, Send) {
  checks("ibv_post_send(3): IBV_WR_SEND on UC");
  start();
  if (stopped()) return;
  for (const uint32_t size : kSizes) {
    next_pattern(static_cast<uint8_t>(size));
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    ASSERT_EQ(conformance::Send(1).data(local_->sge(0, size)).post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_SEND);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_EQ(wc.qp_num, right_->number());
    EXPECT_EQ(wc.wc_flags, 0U);
    EXPECT_TRUE(same(size)) << size;
  }
}

TEST_F(Uc, SendWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_SEND_WITH_IMM on UC");
  start();
  if (stopped()) return;
  for (const uint32_t size : {0U, 7U, 5000U}) {
    ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
    conformance::Send send(1, IBV_WR_SEND_WITH_IMM);
    ASSERT_EQ(send.data(local_->sge(0, size)).imm(0x01020304).post(left_qp()), 0);
    expect_completion(left_done(), 1);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
    EXPECT_EQ(ntohl(wc.imm_data), 0x01020304U);
    EXPECT_EQ(wc.byte_len, size);
  }
}

TEST_F(Uc, WriteAndASendBehindIt) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE on UC");
  start();
  if (stopped()) return;
  Buffer inbox(right_->pd, 8);
  for (const uint32_t size : kSizes) {
    next_pattern(static_cast<uint8_t>(size + 1));
    ASSERT_EQ(Recv(2).data(inbox.sge()).post(right_qp()), 0);
    conformance::Send write(1, IBV_WR_RDMA_WRITE);
    write.data(local_->sge(0, size)).remote(remote_->address(), remote_->rkey());
    ASSERT_EQ(write.post(left_qp()), 0);
    ASSERT_EQ(conformance::Send(3).post(left_qp()), 0);
    EXPECT_EQ(expect_completion(left_done(), 1).opcode, IBV_WC_RDMA_WRITE);
    expect_completion(left_done(), 3);
    expect_completion(right_received(), 2);
    EXPECT_TRUE(same(size)) << size;
  }
}

TEST_F(Uc, WriteWithImmediate) {
  checks("ibv_post_send(3): IBV_WR_RDMA_WRITE_WITH_IMM on UC");
  start();
  if (stopped()) return;
  for (const uint32_t size : {0U, 7U, 5000U}) {
    next_pattern(static_cast<uint8_t>(size + 2));
    ASSERT_EQ(Recv(2).post(right_qp()), 0);
    conformance::Send write(1, IBV_WR_RDMA_WRITE_WITH_IMM);
    write.data(local_->sge(0, size)).remote(remote_->address(), remote_->rkey()).imm(9);
    ASSERT_EQ(write.post(left_qp()), 0);
    expect_completion(left_done(), 1);
    const ibv_wc wc = expect_completion(right_received(), 2);
    EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(wc.byte_len, size);
    EXPECT_TRUE(same(size));
  }
}

TEST_F(Uc, NoReceiveDropsTheMessage) {
  checks("IBTA 9.8.2.2: a SEND without a receive is dropped silently");
  start();
  if (stopped()) return;
  ASSERT_EQ(conformance::Send(1).data(local_->sge(0, 5000)).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  // UC gives no hint when the peer has dropped it: a round trip of the other direction does.
  ASSERT_EQ(Recv(9).data(local_->sge()).post(left_qp()), 0);
  ASSERT_EQ(conformance::Send(8).post(right_qp()), 0);
  expect_completion(left_received(), 9);
  expect_completion(right_done(), 8);
  expect_empty(right_received());
  ASSERT_EQ(Recv(2).data(remote_->sge()).post(right_qp()), 0);
  expect_next_message(2);
  EXPECT_EQ(state_of(right_qp()), IBV_QPS_RTS);
}

TEST_F(Uc, WriteWithAnUnknownKeyTouchesNothing) {
  checks("IBTA 9.8.2.2: a request with a bad R_Key is dropped");
  start();
  if (stopped()) return;
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local_->sge(0, 100)).remote(remote_->address(), remote_->rkey() ^ 0x5500);
  ASSERT_EQ(write.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_RTS) << "the requester never learns of it";
  expect_untouched();
}

TEST_F(Uc, SenderLearnsNothingOfALostPeer) {
  checks("IBTA 9.8.1: no acknowledgements");
  QpConfig uc;
  uc.type = IBV_QPT_UC;
  make_pair(uc, uc);
  if (stopped()) return;
  local_ = std::make_unique<Buffer>(left_->pd, 64);
  const uint32_t gone = right_->number();
  right_.reset();
  left_->connect_to(gone);
  ASSERT_EQ(conformance::Send(1).data(local_->sge()).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(state_of(left_qp()), IBV_QPS_RTS);
}

TEST_F(Uc, ReadsAndAtomicsAreRefused) {
  checks("ibv_post_send(3): UC has no RDMA READ and no atomics");
  start();
  if (stopped()) return;
  conformance::Send read(1, IBV_WR_RDMA_READ);
  read.data(local_->sge(0, 8)).remote(remote_->address(), remote_->rkey());
  EXPECT_EQ(read.post(left_qp()), EINVAL);
  for (const auto opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    conformance::Send atomic(1, opcode);
    atomic.data(local_->sge(0, 8)).atomic(remote_->address(), remote_->rkey(), 1);
    EXPECT_EQ(atomic.post(left_qp()), EINVAL);
  }
}

TEST_F(Uc, ReadAccessCannotBeUsed) {
  checks("IBTA 9.8: WRITE without the right is dropped");
  QpConfig closed;
  closed.access = 0;
  start({}, closed);
  if (stopped()) return;
  conformance::Send write(1, IBV_WR_RDMA_WRITE);
  write.data(local_->sge(0, 100)).remote(remote_->address(), remote_->rkey());
  ASSERT_EQ(write.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_untouched();
}

TEST_F(Uc, ManyMessagesInOrder) {
  checks("IBTA 9.8: messages arrive in the order of posting, none twice");
  QpConfig deep;
  deep.cap.max_send_wr = deep.cap.max_recv_wr = 128;
  start(deep, deep);
  if (stopped()) return;
  constexpr uint64_t kCount = 100;
  for (uint64_t id = 0; id < kCount; ++id)
    ASSERT_EQ(Recv(id).data(remote_->sge(0, 4096)).post(right_qp()), 0);
  for (uint64_t id = 0; id < kCount; ++id) {
    conformance::Send send(id, IBV_WR_SEND_WITH_IMM);
    send.data(local_->sge(0, 2000)).imm(static_cast<uint32_t>(id));
    ASSERT_EQ(send.post(left_qp()), 0);
    expect_completion(left_done(), id);
    EXPECT_EQ(ntohl(expect_completion(right_received(), id).imm_data), id);
  }
}

TEST_F(Uc, SharedReceiveQueueIsRefused) {
  checks("ibv_create_qp(3): fails for types other than RC and UD with an SRQ");
  if (!need(device_.attr.orig_attr.max_srq > 0, "SRQs")) return;
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_srq_init_attr init{nullptr, {8, 1, 0}};
  const SrqPtr srq(ibv_create_srq(pd.get(), &init));
  ASSERT_NE(srq, nullptr);
  QpConfig config;
  config.type = IBV_QPT_UC;
  config.srq = srq.get();
  const QpPtr qp(Endpoint::create(device_, config, pd.get(), cq.get(), cq.get()));
  EXPECT_EQ(qp, nullptr);
}

}  // namespace
}  // namespace conformance::uc_test
