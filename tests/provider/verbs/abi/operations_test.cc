// SPDX-License-Identifier: BSD-2-Clause
// The operations in the order of each release of rdma-core.
#include "provider/verbs/abi/operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe::abi {
namespace {

using test::OpenContext;

/// Every operation is its own number, from 1 on.
VerbsContextOps numbered() {
  OperationTable all;
  for (size_t i = 0; i < all.size(); ++i) all[i] = reinterpret_cast<void*>(i + 1);
  return std::bit_cast<VerbsContextOps>(all);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct Release {
  int number;
  size_t operations;
  size_t poll_cq;      ///< its place
  size_t unimport_pd;  ///< the last one
};

class Operations : public testing::TestWithParam<Release> {};

TEST_P(Operations, StandInTheOrderOfTheRelease) {
  const VerbsContextOps operations = numbered();
  const OperationTable table = make_operation_table(operations, GetParam().number);
  EXPECT_EQ(table[0], address(operations.advise_mr));
  EXPECT_EQ(table[GetParam().poll_cq], address(operations.poll_cq));
  EXPECT_EQ(table[GetParam().unimport_pd], address(operations.unimport_pd));
  EXPECT_EQ(GetParam().unimport_pd, GetParam().operations - 1);
  const auto end = table.begin() + static_cast<std::ptrdiff_t>(GetParam().operations);
  EXPECT_TRUE(std::is_sorted(table.begin(), end));
  EXPECT_TRUE(std::all_of(end, table.end(), [](const void* p) { return p == nullptr; }));
}

INSTANTIATE_TEST_SUITE_P(Releases, Operations,
                         testing::Values(Release{36, 76, 53, 75}, Release{57, 76, 53, 75},
                                         Release{59, 79, 55, 78}, Release{62, 81, 56, 80},
                                         Release{64, 83, 58, 82}, Release{65, 93, 62, 92}),
                         [](const auto& test) { return "v" + std::to_string(test.param.number); });

/// verbs_context of a release, before its last member.
template <size_t kBytes>
struct Layout {
  char before[kBytes];
  size_t size;
  ibv_context context;
  ContextTail tail;
  char rest[64];
};

template <size_t kBytes>
void expect_context_found() {
  ibv_device device{};
  auto memory = std::make_unique<Layout<kBytes>>();
  *memory = {};
  EXPECT_EQ(find_context(memory.get(), sizeof *memory, &device), nullptr);
  memory->size = offsetof(Layout<kBytes>, tail);
  EXPECT_EQ(find_context(memory.get(), sizeof *memory, &device), nullptr);
  memory->context.device = &device;
  EXPECT_EQ(find_context(memory.get(), sizeof *memory, &device), &memory->context);
  EXPECT_EQ(&tail_of(&memory->context), &memory->tail);
  EXPECT_EQ(find_context(memory.get(), memory->size, &device), nullptr) << "no room for the tail";
}

TEST(ContextLayout, IsFoundInAllReleases) {
  expect_context_found<312>();  // rdma-core 36
  expect_context_found<336>();  // 59
  expect_context_found<344>();  // 62
  expect_context_found<360>();  // 64
  expect_context_found<1000>();
}

class LaterVerbs : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(open_.ops().dealloc_pd(pd_), 0); }
  ibv_mr* reg(uint64_t mask, uint64_t iova = 0) {
    MrInitAttr init{sizeof memory_, IBV_ACCESS_LOCAL_WRITE, mask, iova, memory_, -1, 0, nullptr};
    errno = 0;
    return open_.ops().reg_mr_ex(pd_, &init);
  }
  int dereg(ibv_mr* mr) { return open_.ops().dereg_mr(reinterpret_cast<VerbsMr*>(mr)); }

  OpenContext open_;
  ibv_pd* pd_ = open_.alloc_pd();
  char memory_[64]{};
};

TEST_F(LaterVerbs, RegMrExRegistersMemory) {
  for (const uint64_t mask : {MrInitAttr::kAddr, MrInitAttr::kAddr | MrInitAttr::kIova}) {
    ibv_mr* const mr = reg(mask, 0x1000);
    ASSERT_NE(mr, nullptr) << mask;
    EXPECT_NE(mr->lkey, 0U);
    mr->context = open_.context();  // as libibverbs does
    EXPECT_EQ(dereg(mr), 0);
  }
}

TEST_F(LaterVerbs, RegMrExRefusesWhatItCannotDo) {
  EXPECT_EQ(reg(0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(reg(MrInitAttr::kFd), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(reg(MrInitAttr::kAddr | MrInitAttr::kFdOffset), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(reg(MrInitAttr::kFd | MrInitAttr::kFdOffset | MrInitAttr::kIova), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(reg(MrInitAttr::kAddr | 16), nullptr);  // a DMA handle
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(LaterVerbs, QueryPortSpeedCountsIn100Megabits) {
  uint64_t speed = 0;
  EXPECT_EQ(open_.ops().query_port_speed(open_.context(), 1, &speed), 0);
  EXPECT_EQ(speed, 1000U);
  EXPECT_EQ(open_.ops().query_port_speed(open_.context(), 2, &speed), EINVAL);
}

}  // namespace
}  // namespace urxe::abi
