// SPDX-License-Identifier: BSD-2-Clause
// Making and destroying queue pairs.
#include <set>
#include <vector>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct QpCreate : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    pd_ = alloc_pd();
    cq_ = create_cq(256);
    init_.send_cq = init_.recv_cq = cq_.get();
    init_.qp_type = IBV_QPT_RC;
    init_.cap = {8, 8, 1, 1, 0};
  }
  QpPtr create() {
    errno = 0;
    return QpPtr(ibv_create_qp(pd_.get(), &init_));
  }
  void expect_refused(const char* what) {
    EXPECT_EQ(create(), nullptr) << what;
    EXPECT_EQ(errno, EINVAL) << what;
  }

  PdPtr pd_;
  CqPtr cq_;
  ibv_qp_init_attr init_{};
};

TEST_F(QpCreate, CapabilitiesAreAtLeastWhatWasAsked) {
  checks("ibv_create_qp(3): cap");
  init_.cap = {100, 50, 3, 2, 16};
  const QpPtr qp = create();
  ASSERT_NE(qp, nullptr);
  EXPECT_GE(init_.cap.max_send_wr, 100U);
  EXPECT_GE(init_.cap.max_recv_wr, 50U);
  EXPECT_GE(init_.cap.max_send_sge, 3U);
  EXPECT_GE(init_.cap.max_recv_sge, 2U);
  EXPECT_GE(init_.cap.max_inline_data, 16U);
}

TEST_F(QpCreate, MembersAreWhatWasAsked) {
  checks("ibv_create_qp(3)");
  int mark = 0;
  const CqPtr other = create_cq();
  init_.qp_context = &mark;
  init_.recv_cq = other.get();
  const QpPtr qp = create();
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->qp_context, &mark);
  EXPECT_EQ(qp->pd, pd_.get());
  EXPECT_EQ(qp->send_cq, cq_.get());
  EXPECT_EQ(qp->recv_cq, other.get());
  EXPECT_EQ(qp->srq, nullptr);
  EXPECT_EQ(qp->qp_type, IBV_QPT_RC);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  EXPECT_EQ(qp->context, context());
  EXPECT_GT(qp->qp_num, 1U) << "0 and 1 are the special queue pairs";
  EXPECT_LE(qp->qp_num, 0xffffffU);
}

TEST_F(QpCreate, QueryEchoesTheInitialAttributes) {
  checks("ibv_query_qp(3): init_attr");
  int mark = 0;
  init_.qp_context = &mark;
  init_.sq_sig_all = 1;
  const QpPtr qp = create();
  ASSERT_NE(qp, nullptr);
  ibv_qp_init_attr found{};
  const ibv_qp_attr attr = query(qp.get(), &found);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RESET);
  EXPECT_EQ(found.qp_context, &mark);
  EXPECT_EQ(found.send_cq, cq_.get());
  EXPECT_EQ(found.recv_cq, cq_.get());
  EXPECT_EQ(found.srq, nullptr);
  EXPECT_EQ(found.qp_type, IBV_QPT_RC);
  EXPECT_EQ(found.sq_sig_all, 1);
  EXPECT_EQ(found.cap.max_send_wr, init_.cap.max_send_wr);
  EXPECT_EQ(found.cap.max_recv_wr, init_.cap.max_recv_wr);
  EXPECT_EQ(found.cap.max_send_sge, init_.cap.max_send_sge);
  EXPECT_EQ(found.cap.max_recv_sge, init_.cap.max_recv_sge);
  EXPECT_EQ(found.cap.max_inline_data, init_.cap.max_inline_data);
  EXPECT_EQ(attr.cap.max_send_wr, init_.cap.max_send_wr);
}

TEST_F(QpCreate, UpToTheLimits) {
  checks("ibv_create_qp(3), ibv_query_device(3): max_qp_wr, max_sge");
  const ibv_device_attr& device = device_.attr.orig_attr;
  init_.cap = {1, static_cast<uint32_t>(device.max_qp_wr), 1, 1, 0};
  EXPECT_NE(create(), nullptr) << "max_qp_wr receives";
  init_.cap = {1, 1, 1, static_cast<uint32_t>(device.max_sge), 0};
  EXPECT_NE(create(), nullptr) << "max_sge";
}

TEST_F(QpCreate, BeyondTheLimits) {
  checks("ibv_create_qp(3), ibv_query_device(3): max_qp_wr, max_sge");
  const auto wr = static_cast<uint32_t>(device_.attr.orig_attr.max_qp_wr);
  const auto sge = static_cast<uint32_t>(device_.attr.orig_attr.max_sge);
  init_.cap = {wr + 1, 1, 1, 1, 0};
  expect_refused("max_send_wr");
  init_.cap = {1, wr + 1, 1, 1, 0};
  expect_refused("max_recv_wr");
  init_.cap = {1, 1, sge + 1, 1, 0};
  expect_refused("max_send_sge");
  init_.cap = {1, 1, 1, sge + 1, 0};
  expect_refused("max_recv_sge");
  init_.cap = {1, 1, 1, 1, 1U << 30};
  expect_refused("max_inline_data");
}

TEST_F(QpCreate, UnknownTypes) {
  checks("ibv_create_qp(3): qp_type");
  for (const int type : {0, 1, 5, 6, 7, 11, 100, 0xfe}) {
    init_.qp_type = static_cast<ibv_qp_type>(type);
    EXPECT_EQ(create(), nullptr) << type;
    EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << type << ": " << std::strerror(errno);
  }
}

TEST_F(QpCreate, NeedsCompletionQueues) {
  checks("ibv_create_qp(3): send_cq, recv_cq");
  if (!need_if_any(options().require_all, "a check of null pointers")) return;
  init_.send_cq = nullptr;
  expect_refused("no send_cq");
  init_.send_cq = cq_.get();
  init_.recv_cq = nullptr;
  expect_refused("no recv_cq");
}

TEST_F(QpCreate, ObjectsOfAnotherContext) {
  checks("ibv_create_qp(3), ibv_create_qp_ex(3): objects of one context");
  if (!need_if_any(options().require_all, "a check of the context")) return;
  const Device second = Device::open();
  const PdPtr pd(ibv_alloc_pd(second.context.get()));
  const CqPtr cq(ibv_create_cq(second.context.get(), 16, nullptr, nullptr, 0));
  ibv_srq_init_attr srq_init{nullptr, {8, 1, 0}};
  const SrqPtr srq(ibv_create_srq(pd.get(), &srq_init));
  init_.send_cq = cq.get();
  expect_refused("send_cq");
  init_.send_cq = cq_.get();
  init_.recv_cq = cq.get();
  expect_refused("recv_cq");
  init_.recv_cq = cq_.get();
  init_.srq = srq.get();
  expect_refused("srq");
  ibv_qp_init_attr_ex extended{};
  extended.send_cq = extended.recv_cq = cq_.get();
  extended.qp_type = IBV_QPT_RC;
  extended.cap = {8, 8, 1, 1, 0};
  // With the domain alone, libibverbs asks the domain's context.
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  extended.pd = pd.get();
  errno = 0;
  EXPECT_EQ(QpPtr(ibv_create_qp_ex(context(), &extended)), nullptr) << "pd";
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(QpCreate, SendOnly) {
  checks("ibv_create_qp(3): max_recv_wr of 0");
  init_.cap = {8, 0, 1, 0, 0};
  const QpPtr qp = create();
  ASSERT_NE(qp, nullptr);
}

TEST_F(QpCreate, ReceiveOnly) {
  checks("ibv_create_qp(3): max_send_wr of 0");
  init_.cap = {0, 8, 0, 1, 0};
  const QpPtr qp = create();
  ASSERT_NE(qp, nullptr);
}

TEST_F(QpCreate, NumbersAreNotReusedAtOnce) {
  checks("IBTA 10.3.1.1 (QP numbers): late packets must not meet a new queue pair");
  constexpr int kCount = 200;
  std::set<uint32_t> numbers;
  for (int i = 0; i < kCount; ++i) numbers.insert(create()->qp_num);
  EXPECT_EQ(numbers.size(), size_t{kCount});
}

TEST_F(QpCreate, NumbersOfLivingQueuePairsDiffer) {
  checks("ibv_create_qp(3): qp_num");
  constexpr int kCount = 300;
  std::vector<QpPtr> qps;
  std::set<uint32_t> numbers;
  for (int i = 0; i < kCount; ++i) {
    qps.push_back(create());
    ASSERT_NE(qps.back(), nullptr) << i;
    numbers.insert(qps.back()->qp_num);
  }
  EXPECT_EQ(numbers.size(), size_t{kCount});
}

TEST_F(QpCreate, SignalledByFlagOnly) {
  checks("ibv_create_qp(3): sq_sig_all; ibv_post_send(3): IBV_SEND_SIGNALED");
  QpConfig config;
  config.sq_sig_all = 0;
  Endpoint left(device_, config);
  Endpoint right(device_, config);
  left.connect_to(right.number());
  right.connect_to(left.number());
  ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE).remote(0, 0).post(left.qp.get()), 0);
  Send signaled(2, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(signaled.remote(0, 0).flags(IBV_SEND_SIGNALED).post(left.qp.get()), 0);
  expect_completion(left.send_cq.get(), 2);
  expect_empty(left.send_cq.get());
}

TEST_F(QpCreate, UnsignalledErrorsCompleteAllTheSame) {
  checks("ibv_post_send(3): a request that fails always completes; IBTA 10.7.3.1");
  QpConfig config;
  config.sq_sig_all = 0;
  Endpoint left(device_, config);
  Endpoint right(device_, config);
  left.connect_to(right.number());
  right.connect_to(left.number());
  Send bad(1);
  ASSERT_EQ(bad.data({0x1000, 8, 0x12345678}).post(left.qp.get()), 0);
  ASSERT_EQ(Send(2).post(left.qp.get()), 0);
  expect_completion(left.send_cq.get(), 1, IBV_WC_LOC_PROT_ERR);
  expect_completion(left.send_cq.get(), 2, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(QpCreate, ExtendedWithAProtectionDomain) {
  checks("ibv_create_qp_ex(3): IBV_QP_INIT_ATTR_PD");
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {5, 6, 1, 1, 0};
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = pd_.get();
  const QpPtr qp(ibv_create_qp_ex(context(), &init));
  ASSERT_NE(qp, nullptr) << std::strerror(errno);
  EXPECT_EQ(qp->pd, pd_.get());
  EXPECT_GE(init.cap.max_send_wr, 5U);
}

TEST_F(QpCreate, ExtendedWithUnknownMask) {
  checks("ibv_create_qp_ex(3): comp_mask");
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {5, 6, 1, 1, 0};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | (1U << 30);
  init.pd = pd_.get();
  errno = 0;
  const QpPtr qp(ibv_create_qp_ex(context(), &init));
  EXPECT_EQ(qp, nullptr);
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << std::strerror(errno);
}

TEST_F(QpCreate, ExtendedWithUnknownFlags) {
  checks("ibv_create_qp_ex(3): create_flags");
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {5, 6, 1, 1, 0};
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  init.create_flags = 1U << 29;
  init.pd = pd_.get();
  errno = 0;
  const QpPtr qp(ibv_create_qp_ex(context(), &init));
  EXPECT_EQ(qp, nullptr);
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << std::strerror(errno);
}

TEST_F(QpCreate, ShortLivedOnes) {
  checks("ibv_create_qp(3): ibv_destroy_qp(); nothing is left behind");
  const int count = options().slow ? 1000000 : 2000;
  for (int i = 0; i < count; ++i) ASSERT_NE(create(), nullptr) << i;
}

}  // namespace
}  // namespace conformance
