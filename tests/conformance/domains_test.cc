// SPDX-License-Identifier: BSD-2-Clause
// Thread domains, parent domains, and enhanced connection establishment.
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Domains : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    pd_ = alloc_pd();
    other_ = Device::open();
    ibv_td_init_attr init{};
    errno = 0;
    td_.reset(ibv_alloc_td(context(), &init));
    need(td_ != nullptr || errno != EOPNOTSUPP, "thread domains");
  }
  void TearDown() override {
    td_.reset();
    pd_.reset();
    Conformance::TearDown();
  }
  PdPtr parent(ibv_pd* pd, ibv_td* td, uint32_t comp_mask = 0) const {
    ibv_parent_domain_init_attr init{};
    init.pd = pd;
    init.td = td;
    init.comp_mask = comp_mask;
    errno = 0;
    return PdPtr(ibv_alloc_parent_domain(context(), &init));
  }

  PdPtr pd_;
  TdPtr td_;
  Device other_;
};

TEST_F(Domains, ThreadDomainUnknownCompMask) {
  checks("ibv_alloc_td(3): comp_mask");
  if (IsSkipped()) return;
  ibv_td_init_attr init{};
  init.comp_mask = 1U << 31;
  errno = 0;
  EXPECT_EQ(ibv_alloc_td(context(), &init), nullptr);
  EXPECT_TRUE(errno == EINVAL || errno == EOPNOTSUPP) << std::strerror(errno);
}

TEST_F(Domains, ThreadDomainInUse) {
  checks("ibv_dealloc_td(3): EBUSY while a parent domain uses it");
  if (IsSkipped()) return;
  PdPtr parent_domain = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_domain, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_dealloc_td(td_.get()), EBUSY);
  parent_domain.reset();
}

TEST_F(Domains, ProtectionDomainInUse) {
  checks("ibv_dealloc_pd(3): EBUSY while a parent domain uses it");
  if (IsSkipped()) return;
  PdPtr parent_domain = parent(pd_.get(), nullptr);
  ASSERT_NE(parent_domain, nullptr) << std::strerror(errno);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  parent_domain.reset();
}

TEST_F(Domains, ParentDomainInUse) {
  checks("ibv_dealloc_pd(3): EBUSY while a queue pair uses it");
  if (IsSkipped()) return;
  PdPtr parent_domain = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_domain, nullptr) << std::strerror(errno);
  {
    QpConfig config;
    config.pd = parent_domain.get();
    const Endpoint endpoint(device_, config);
    EXPECT_EQ(endpoint.qp->pd, parent_domain.get());
    EXPECT_EQ(ibv_dealloc_pd(parent_domain.get()), EBUSY);
  }
}

TEST_F(Domains, NeedsAProtectionDomain) {
  checks("ibv_alloc_parent_domain(3): pd can't be NULL");
  if (IsSkipped()) return;
  EXPECT_EQ(parent(nullptr, td_.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Domains, ThreadDomainOfAnotherContext) {
  checks("ibv_alloc_parent_domain(3): objects of one context");
  if (IsSkipped()) return;
  ibv_td_init_attr init{};
  const TdPtr foreign(ibv_alloc_td(other_.context.get(), &init));
  ASSERT_NE(foreign, nullptr);
  EXPECT_EQ(parent(pd_.get(), foreign.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Domains, ProtectionDomainThatCannotBe) {
  checks("ibv_alloc_parent_domain(3): a protection domain of this context, no parent domain");
  if (IsSkipped()) return;
  const PdPtr foreign(ibv_alloc_pd(other_.context.get()));
  EXPECT_EQ(parent(foreign.get(), td_.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const PdPtr of_base = parent(pd_.get(), nullptr);
  ASSERT_NE(of_base, nullptr);
  EXPECT_EQ(parent(of_base.get(), td_.get()), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Domains, UnknownCompMask) {
  checks("ibv_alloc_parent_domain(3): comp_mask");
  if (IsSkipped()) return;
  EXPECT_EQ(parent(pd_.get(), td_.get(), 1U << 31), nullptr);
  EXPECT_TRUE(errno == EINVAL || errno == EOPNOTSUPP) << std::strerror(errno);
}

/// IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, which came with rdma-core 65, permits
/// what a device need not use. Devices without IBV_DEVICE_CC_DMA_BOUNCE have no use for it.
TEST_F(Domains, MayUseUnprotectedMemory) {
  checks("ibv_alloc_parent_domain(3): IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC");
  if (IsSkipped()) return;
  constexpr uint32_t kAllowUnprotectedAlloc = 1U << 2;
  const PdPtr domain = parent(pd_.get(), td_.get(), kAllowUnprotectedAlloc);
  need(domain != nullptr || errno != EOPNOTSUPP, "unprotected memory");
  if (IsSkipped()) return;
  ASSERT_NE(domain, nullptr) << std::strerror(errno);
  Buffer in_it(domain.get(), 64);
  EXPECT_NE(in_it.rkey(), 0U);
}

/// Custom allocators may leave every allocation to the device, which need not ask them at all.
TEST_F(Domains, CustomAllocators) {
  checks("ibv_alloc_parent_domain(3): IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS");
  if (IsSkipped()) return;
  ibv_parent_domain_init_attr init{};
  init.pd = pd_.get();
  init.td = td_.get();
  init.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  init.alloc = [](ibv_pd*, void*, size_t, size_t, uint64_t) { return IBV_ALLOCATOR_USE_DEFAULT; };
  init.free = [](ibv_pd*, void*, void*, uint64_t) {};
  errno = 0;
  const PdPtr domain(ibv_alloc_parent_domain(context(), &init));
  need(domain != nullptr || errno != EOPNOTSUPP, "custom allocators");
  if (IsSkipped()) return;
  ASSERT_NE(domain, nullptr) << std::strerror(errno);
  Buffer in_it(domain.get(), 64);
  EXPECT_NE(in_it.rkey(), 0U);
}

/// A region of the protection domain serves queue pairs of the parent domain and the other way
/// round: they are one domain.
TEST_F(Domains, SameProtectionAsItsDomain) {
  checks("ibv_alloc_parent_domain(3): used wherever a protection domain is");
  if (IsSkipped()) return;
  const PdPtr parent_domain = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_domain, nullptr) << std::strerror(errno);
  QpConfig left;
  left.pd = pd_.get();
  QpConfig right;
  right.pd = parent_domain.get();
  connect_pair(left, right);
  if (stopped()) return;
  Buffer by_parent(parent_domain.get(), 64);
  Buffer by_base(pd_.get(), 64);
  by_parent.fill_pattern();
  ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE)
                .data(by_parent.sge())
                .remote(by_base.address(), by_base.rkey())
                .post(left_qp()),
            0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(by_base.bytes, by_parent.bytes);
  left_.reset();
  right_.reset();
}

TEST_F(Domains, TrafficInAThreadDomain) {
  checks("ibv_alloc_td(3): the application serialises, the provider need not lock");
  if (IsSkipped()) return;
  const PdPtr parent_domain = parent(pd_.get(), td_.get());
  ASSERT_NE(parent_domain, nullptr) << std::strerror(errno);
  QpConfig config;
  config.pd = parent_domain.get();
  connect_pair(config, config);
  if (stopped()) return;
  {
    Buffer source(parent_domain.get(), 256);
    Buffer target(parent_domain.get(), 256);
    for (uint64_t i = 0; i < 100; ++i) {
      source.fill_pattern(static_cast<uint8_t>(i));
      ASSERT_EQ(Recv(i).data(target.sge()).post(right_qp()), 0);
      ASSERT_EQ(Send(i).data(source.sge()).post(left_qp()), 0);
      expect_completion(left_done(), i);
      expect_completion(right_received(), i);
      ASSERT_EQ(source.bytes, target.bytes);
    }
  }
  left_.reset();
  right_.reset();
}

struct Ece : PairConformance {};

TEST_F(Ece, QueriedOptionsCanBeSet) {
  checks("ibv_query_ece(3), ibv_set_ece(3)");
  make_pair({}, {});
  if (stopped()) return;
  ibv_ece ece{};
  const int queried = ibv_query_ece(left_qp(), &ece);
  if (!need(!is_unsupported(queried), "enhanced connection establishment")) return;
  ASSERT_EQ(queried, 0);
  EXPECT_EQ(ece.comp_mask, 0U);
  if (ece.vendor_id == 0) return;  // nothing to agree on
  EXPECT_EQ(ibv_set_ece(right_qp(), &ece), 0);
  ibv_ece set{};
  ASSERT_EQ(ibv_query_ece(right_qp(), &set), 0);
  EXPECT_EQ(set.options, ece.options);
}

TEST_F(Ece, UnknownCompMask) {
  checks("ibv_set_ece(3): EINVAL, comp_mask");
  make_pair({}, {});
  if (stopped()) return;
  ibv_ece ece{};
  const int queried = ibv_query_ece(left_qp(), &ece);
  if (!need(!is_unsupported(queried), "enhanced connection establishment")) return;
  ece.comp_mask = 1;
  EXPECT_NE(ibv_set_ece(left_qp(), &ece), 0);
}

TEST_F(Ece, NoVendorIsNotSupported) {
  checks("ibv_set_ece(3): vendor_id");
  make_pair({}, {});
  if (stopped()) return;
  ibv_ece ece{};
  EXPECT_EQ(ibv_set_ece(left_qp(), &ece), EOPNOTSUPP);
}

TEST_F(Ece, AnotherVendorIsNotSupported) {
  checks("ibv_set_ece(3): EOPNOTSUPP; connection managers go on without");
  make_pair({}, {});
  if (stopped()) return;
  ibv_ece ece{};
  const int queried = ibv_query_ece(left_qp(), &ece);
  if (!need(!is_unsupported(queried), "enhanced connection establishment")) return;
  ece.vendor_id ^= 0x00ffff;
  EXPECT_EQ(ibv_set_ece(left_qp(), &ece), EOPNOTSUPP);
}

TEST_F(Ece, TooLateOnceConnected) {
  checks("ibv_set_ece(3): before the queue pair is ready to receive");
  connect_pair();
  if (stopped()) return;
  ibv_ece ece{};
  const int queried = ibv_query_ece(left_qp(), &ece);
  if (!need(!is_unsupported(queried), "enhanced connection establishment")) return;
  if (ece.vendor_id == 0) return;  // nothing to set
  EXPECT_NE(ibv_set_ece(left_qp(), &ece), 0);
}

}  // namespace
}  // namespace conformance
