// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

namespace urxe {

/// Orders all memory accesses before it with all after it. ThreadSanitizer understands operations
/// on atomics but not fences.
inline void full_fence() {
#if defined(__SANITIZE_THREAD__)
  static std::atomic<int> dummy{0};
  dummy.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace urxe
