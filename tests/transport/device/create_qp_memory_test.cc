// SPDX-License-Identifier: BSD-2-Clause
// create_qp() when memory runs out.
#include <gtest/gtest.h>

#include <new>

#include "tests/support/failing_allocations.h"
#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

// Expect: whichever allocation fails, no object is in use and the number is free; then it works.
TEST(CreateQp, LeavesNothingBehindWhenMemoryRunsOut) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 100);
    Device device{DeviceConfig{}};
    const PdId pd = device.alloc_pd().value();
    CompletionQueue* const cq = device.create_cq(16, nullptr).value();
    SharedReceiveQueue* const srq =
        device.create_srq({pd, 4, 1, nullptr, nullptr, nullptr}).value();
    QpInit init;
    init.qpn = Qpn{0x11};
    init.pd = pd;
    init.send_cq = init.recv_cq = cq;
    init.srq = srq;
    init.type = IBV_QPT_UD;
    init.cap = {16, 0, 1, 0, 16};
    bool failed = false;
    fail_allocation(n);
    try {
      (void)device.create_qp(init);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    fail_allocation(0);
    if (!failed) {
      EXPECT_GT(n, 1);
      return;
    }
    EXPECT_EQ(device.qp_count(), 0U) << n;
    EXPECT_EQ(device.find_qp(init.qpn), nullptr) << n;
    const auto again = device.create_qp(init);
    ASSERT_TRUE(again) << n;
    device.destroy_qp(*again);
    EXPECT_TRUE(device.destroy_srq(srq)) << n;
    EXPECT_TRUE(device.destroy_cq(cq)) << n;
    EXPECT_TRUE(device.dealloc_pd(pd)) << n;
  }
}

}  // namespace
}  // namespace urxe::test
