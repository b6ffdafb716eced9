// SPDX-License-Identifier: BSD-2-Clause
// create_qp() when memory runs out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/transport/bench.h"

// The sanitizers bring operators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define URXE_CAN_FAIL_ALLOCATIONS 1

namespace {

/// Allocations until one fails; 0: none does.
int until_failure = 0;

void* checked(void* memory) {
  if (until_failure > 0 && --until_failure == 0) {
    std::free(memory);
    memory = nullptr;
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) {
  return checked(std::malloc(size));
}
void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return checked(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
#endif

namespace urxe::test {
namespace {

// Expect: whichever allocation fails, no object is in use and the number is free; then it works.
TEST(CreateQp, LeavesNothingBehindWhenMemoryRunsOut) {
#ifndef URXE_CAN_FAIL_ALLOCATIONS
  GTEST_SKIP() << "the sanitizer has its own operator new";
#else
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
    until_failure = n;
    try {
      (void)device.create_qp(init);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    until_failure = 0;
    if (!failed) {
      EXPECT_GT(n, 1);
      return;
    }
    EXPECT_EQ(device.qp_count(), 0U) << n;
    EXPECT_EQ(device.find_qp(init.qpn), nullptr) << n;
    const auto again = device.create_qp(init);
    ASSERT_TRUE(again) << n;
    device.destroy_qp(*again);
    device.destroy_srq(srq);
    EXPECT_TRUE(device.destroy_cq(cq)) << n;
    EXPECT_TRUE(device.dealloc_pd(pd)) << n;
  }
#endif
}

}  // namespace
}  // namespace urxe::test
