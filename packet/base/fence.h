// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

namespace urxe {

/// Orders all memory accesses before it with all after it: MEMORY_ORDER.md has its users.
/// ThreadSanitizer understands operations on atomics but not fences.
inline void full_fence() {
#if defined(__SANITIZE_THREAD__)
  static std::atomic<int> dummy{0};
  dummy.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// The same, for a thread whose last access was a sequentially consistent exchange, which is a
/// fence on x86.
inline void full_fence_after_exchange() {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  full_fence();
#endif
}

// Halves of it, for memory that others access without atomics: the application's, which a peer
// reads and writes. ThreadSanitizer has nothing to understand there.

/// Orders all memory accesses before it with the stores after it.
inline void release_fence() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Orders the loads before it with all memory accesses after it.
inline void acquire_fence() {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

}  // namespace urxe
