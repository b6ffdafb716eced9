// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe {
namespace {

constexpr uint32_t kSends = 1;
constexpr uint32_t kReceives = 2;

struct CompCntrVerbs : testing::Test {
  abi::CompCntr* create(uint32_t type = 0) {
    abi::CompCntrInitAttr init{};
    init.type = type;
    return test::kept(open_.ops().create_comp_cntr(open_.context(), &init));
  }
  int attach(ibv_qp* qp, abi::CompCntr* counter, uint32_t operations, uint32_t comp_mask = 0) {
    abi::QpAttachCompCntrAttr attr{comp_mask, operations};
    return open_.ops().qp_attach_comp_cntr(qp, counter, &attr);
  }
  uint64_t read(abi::CompCntr* counter) {
    uint64_t value = 0;
    EXPECT_EQ(open_.ops().read_comp_cntr(counter, &value), 0);
    return value;
  }
  uint64_t read_errors(abi::CompCntr* counter) {
    uint64_t value = 0;
    EXPECT_EQ(open_.ops().read_err_comp_cntr(counter, &value), 0);
    return value;
  }
  ibv_qp* create_qp() { return open_.create_qp(pd_, cq_); }

  test::OpenContext open_;
  ibv_pd* pd_ = open_.alloc_pd();
  ibv_cq* cq_ = open_.create_cq();
};

TEST_F(CompCntrVerbs, BeginsWithZero) {
  for (const uint32_t type : {0U, 1U}) {
    abi::CompCntr* counter = create(type);
    ASSERT_NE(counter, nullptr);
    EXPECT_EQ(counter->context, open_.context());
    EXPECT_EQ(read(counter), 0U);
    EXPECT_EQ(read_errors(counter), 0U);
    EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), 0);
  }
}

// Expect: the two values are apart, and wrap to zero.
TEST_F(CompCntrVerbs, IsSetAndIncremented) {
  abi::CompCntr* counter = create();
  EXPECT_EQ(open_.ops().set_comp_cntr(counter, 5), 0);
  EXPECT_EQ(open_.ops().inc_comp_cntr(counter, 3), 0);
  EXPECT_EQ(open_.ops().set_err_comp_cntr(counter, UINT64_MAX), 0);
  EXPECT_EQ(read(counter), 8U);
  EXPECT_EQ(read_errors(counter), UINT64_MAX);
  EXPECT_EQ(open_.ops().inc_err_comp_cntr(counter, 2), 0);
  EXPECT_EQ(read_errors(counter), 1U);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), 0);
}

TEST_F(CompCntrVerbs, WhatIsNotKnownIsRefused) {
  abi::CompCntrInitAttr init{};
  for (uint32_t abi::CompCntrInitAttr::*field :
       {&abi::CompCntrInitAttr::comp_mask, &abi::CompCntrInitAttr::flags}) {
    init = {};
    init.*field = 1;
    errno = 0;
    EXPECT_EQ(open_.ops().create_comp_cntr(open_.context(), &init), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_EQ(create(2), nullptr);
  EXPECT_EQ(errno, ENOTSUP);
  abi::CompCntr* counter = create();
  ibv_qp* qp = create_qp();
  EXPECT_EQ(attach(qp, counter, kSends, 1), EINVAL);
  EXPECT_EQ(attach(qp, counter, 0), EINVAL);
  EXPECT_EQ(attach(qp, counter, kSends | 64), ENOTSUP);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), 0);
}

TEST_F(CompCntrVerbs, CannotBeDestroyedWhileItIsAttached) {
  abi::CompCntr* counter = create();
  ibv_qp* qp = create_qp();
  EXPECT_EQ(attach(qp, counter, kSends), 0);
  EXPECT_EQ(attach(qp, counter, kReceives), 0);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), EBUSY);
  EXPECT_EQ(open_.ops().destroy_qp(qp), 0);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), 0);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(counter), EINVAL);
}

TEST_F(CompCntrVerbs, EachOperationHasOneAtMost) {
  abi::CompCntr* first = create();
  abi::CompCntr* second = create();
  ibv_qp* qp = create_qp();
  EXPECT_EQ(attach(qp, first, kSends), 0);
  EXPECT_EQ(attach(qp, second, kSends | kReceives), EBUSY);
  EXPECT_EQ(attach(qp, second, kReceives), 0);
  ibv_qp* other = create_qp();
  EXPECT_EQ(attach(other, first, kSends | kReceives), 0);
}

TEST_F(CompCntrVerbs, AreAttachedBeforeTheQueuePairIsReady) {
  abi::CompCntr* counter = create();
  ibv_qp* qp = create_qp();
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  ASSERT_EQ(open_.ops().modify_qp(qp, &attr, mask), 0);
  EXPECT_EQ(attach(qp, counter, kSends), 0);
  attr.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(open_.ops().modify_qp(qp, &attr, IBV_QP_STATE), 0);
  EXPECT_EQ(attach(qp, counter, kReceives), EINVAL);
}

TEST_F(CompCntrVerbs, CapabilitiesOfAnyLength) {
  struct {
    abi::CompCntrCaps caps;
    uint64_t later;
  } larger{{1, 1, 1}, 1};
  EXPECT_EQ(open_.ops().query_comp_cntr_caps(open_.context(), &larger.caps, sizeof larger), 0);
  EXPECT_EQ(larger.caps.max_value, UINT64_MAX);
  EXPECT_EQ(larger.caps.supported_qp_attach_ops, 63U);
  EXPECT_EQ(larger.later, 0U);
  abi::CompCntrCaps smaller{1, 1, 1};
  EXPECT_EQ(open_.ops().query_comp_cntr_caps(open_.context(), &smaller, 8), 0);
  EXPECT_EQ(smaller.max_counters, 1U);
}

TEST_F(CompCntrVerbs, AreBounded) {
  abi::CompCntrCaps caps{};
  ASSERT_EQ(open_.ops().query_comp_cntr_caps(open_.context(), &caps, sizeof caps), 0);
  abi::CompCntr* last = nullptr;
  for (uint32_t i = 0; i < caps.max_counters; ++i) last = create();
  ASSERT_NE(last, nullptr);
  errno = 0;
  EXPECT_EQ(create(), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(open_.ops().destroy_comp_cntr(last), 0);
  EXPECT_NE(create(), nullptr);
}

}  // namespace
}  // namespace urxe
