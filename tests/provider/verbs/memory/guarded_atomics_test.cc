// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <array>

#include "provider/runtime/memory/guarded_access.h"
#include "provider/runtime/memory/unmap_gate.h"
#include "provider/runtime/memory/unmap_watch.h"
#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe {
namespace {

class GuardedAtomics : public testing::TestWithParam<int> {};

/// The defect: an ATOMIC WRITE, or an atomic through a window, could meet memory that another
/// thread was just unmapping, since only regions with the right to atomics made such threads wait.
/// Expect: after the registration they pass the gate.
TEST_P(GuardedAtomics, ThreadsThatUnmapPassTheGate) {
  if (!guarded_access_works()) GTEST_SKIP() << "this kernel has no on-demand paging";
  test::OpenContext open;
  std::array<uint8_t, 4096> memory{};
  ibv_pd* pd = open.alloc_pd();
  ibv_mr* mr = open.reg_mr(pd, memory.data(), memory.size(),
                           IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | GetParam());
  const bool passes = unmap_gate().enter();
  if (passes) unmap_gate().leave();
  EXPECT_TRUE(passes);
  EXPECT_EQ(open.ops().dereg_mr(reinterpret_cast<abi::VerbsMr*>(mr)), 0);
}

INSTANTIATE_TEST_SUITE_P(Rights, GuardedAtomics,
                         testing::Values(IBV_ACCESS_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_WRITE,
                                         IBV_ACCESS_MW_BIND));

}  // namespace
}  // namespace urxe
