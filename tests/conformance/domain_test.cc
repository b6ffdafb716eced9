// SPDX-License-Identifier: BSD-2-Clause
// Thread domains and parent domains.
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Domain : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    ibv_td_init_attr attr{};
    errno = 0;
    td_.reset(ibv_alloc_td(context(), &attr));
    if (!need(td_ != nullptr || !is_unsupported(errno), "thread domains")) return;
    ASSERT_NE(td_, nullptr) << std::strerror(errno);
    pd_ = alloc_pd();
  }
  void TearDown() override {
    left_.reset();
    right_.reset();
    parent_.reset();
    Conformance::TearDown();
  }
  PdPtr parent(ibv_pd* pd, ibv_td* td, uint32_t mask = 0) {
    ibv_parent_domain_init_attr attr{};
    attr.pd = pd;
    attr.td = td;
    attr.comp_mask = mask;
    errno = 0;
    return PdPtr(ibv_alloc_parent_domain(context(), &attr));
  }
  /// Both sides belong to one parent domain; a message goes through.
  void expect_traffic(ibv_pd* domain) {
    QpConfig config;
    config.pd = domain;
    connect_pair(config);
    if (stopped()) return;
    Buffer source(domain, 5000);
    Buffer inbox(domain, 5000);
    source.fill_pattern();
    ASSERT_EQ(Recv(2).data(inbox.sge()).post(right_qp()), 0);
    ASSERT_EQ(Send(1).data(source.sge()).post(left_qp()), 0);
    expect_completion(left_done(), 1);
    expect_completion(right_received(), 2);
    EXPECT_EQ(source.bytes, inbox.bytes);
    left_.reset();
    right_.reset();
  }

  TdPtr td_;
  PdPtr pd_;
  PdPtr parent_;
};

TEST_F(Domain, ThreadDomain) {
  checks("ibv_alloc_td(3)");
  EXPECT_EQ(td_->context, context());
}

TEST_F(Domain, ThreadDomainMask) {
  checks("ibv_alloc_td(3): init_attr->comp_mask");
  ibv_td_init_attr attr{};
  attr.comp_mask = 1U << 30;
  EXPECT_EQ(TdPtr(ibv_alloc_td(context(), &attr)), nullptr);
}

TEST_F(Domain, ParentWithAThreadDomain) {
  checks("ibv_alloc_parent_domain(3)");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr) << std::strerror(errno);
  EXPECT_EQ(parent_->context, context());
  expect_traffic(parent_.get());
}

TEST_F(Domain, ParentWithoutAThreadDomain) {
  checks("ibv_alloc_parent_domain(3): td may be NULL");
  parent_ = parent(pd_.get(), nullptr);
  ASSERT_NE(parent_, nullptr) << std::strerror(errno);
  expect_traffic(parent_.get());
}

TEST_F(Domain, ParentNeedsAProtectionDomain) {
  checks("ibv_alloc_parent_domain(3): pd cannot be NULL");
  EXPECT_EQ(parent(nullptr, td_.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Domain, ParentMask) {
  checks("ibv_alloc_parent_domain(3): comp_mask");
  EXPECT_EQ(parent(pd_.get(), td_.get(), 1U << 30), nullptr);
  EXPECT_TRUE(errno == EINVAL || is_unsupported(errno)) << errno;
}

TEST_F(Domain, ParentIsInterchangeableWithItsProtectionDomain) {
  checks("ibv_alloc_parent_domain(3): completely interchangeable");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr);
  QpConfig of_parent;
  of_parent.pd = parent_.get();
  connect_pair(of_parent);
  if (stopped()) return;
  Buffer source(pd_.get(), 64, kAllAccess, 0x31);
  Buffer target(pd_.get(), 64);
  Send write(1, IBV_WR_RDMA_WRITE);
  write.data(source.sge()).remote(target.address(), target.rkey());
  ASSERT_EQ(write.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(target.bytes, source.bytes);
}

TEST_F(Domain, ThreadDomainIsBusy) {
  checks("ibv_alloc_td(3): resources should be destroyed prior to it");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr);
  EXPECT_EQ(ibv_dealloc_td(td_.get()), EBUSY);
}

TEST_F(Domain, ProtectionDomainIsBusy) {
  checks("ibv_alloc_parent_domain(3), ibv_alloc_pd(3)");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
}

TEST_F(Domain, ParentIsBusy) {
  checks("ibv_alloc_parent_domain(3): resources should be destroyed prior to it");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr);
  const Buffer buffer(parent_.get(), 64);
  EXPECT_EQ(ibv_dealloc_pd(parent_.get()), EBUSY);
}

TEST_F(Domain, CompletionQueueInAParent) {
  checks("ibv_create_cq_ex(3): parent_domain");
  parent_ = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_, nullptr);
  ibv_cq_init_attr_ex init{};
  init.cqe = 16;
  init.wc_flags = IBV_WC_STANDARD_FLAGS;
  init.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
  init.parent_domain = parent_.get();
  errno = 0;
  ibv_cq_ex* made = ibv_create_cq_ex(context(), &init);
  if (!need(made != nullptr || !is_unsupported(errno), "completion queues in parent domains"))
    return;
  ASSERT_NE(made, nullptr) << std::strerror(errno);
  const CqPtr cq(ibv_cq_ex_to_cq(made));
  expect_empty(cq.get());
}

}  // namespace
}  // namespace conformance
