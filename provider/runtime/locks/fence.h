// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

namespace urxe {

/// Orders everything before it with everything after it. ThreadSanitizer does not understand fences
/// of their own, only operations on atomics.
inline void full_fence() {
#if defined(__SANITIZE_THREAD__)
  static std::atomic<int> dummy{0};
  dummy.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace urxe
