// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/failing_allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int until_failure = 0;
thread_local void (*before_free)() = nullptr;

}  // namespace

namespace urxe::test {

void fail_allocation(int n) {
  until_failure = n;
}
bool failure_is_due() {
  return until_failure > 0;
}
void watch_frees(void (*call)()) {
  before_free = call;
}

#ifndef URXE_CAN_FAIL_ALLOCATIONS
bool can_fail_allocations() {
  return false;
}
#else
bool can_fail_allocations() {
  return true;
}
#endif

}  // namespace urxe::test

#ifdef URXE_CAN_FAIL_ALLOCATIONS
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // inlined, the operators are a mismatch

namespace {

void* checked(void* memory) {
  if (until_failure > 0 && --until_failure == 0) {
    std::free(memory);
    memory = nullptr;
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && before_free != nullptr) before_free();
  std::free(memory);
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
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  release(memory);
}
#endif
