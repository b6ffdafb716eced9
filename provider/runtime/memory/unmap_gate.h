// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>

#include "provider/runtime/locks/patience.h"
#include "provider/runtime/locks/spinlock.h"

namespace urxe {

/// Keeps memory from being unmapped for the length of one instruction. Threads that unmap pass
/// through it, any number at once; while it is closed they wait in front of it. Until it is used
/// for the first time passing costs one load.
///
/// Both sides wait for a bounded time only: an allocator may unmap with a lock of its own held that
/// the other side turns out to need. close() then returns false, and enter() lets the thread pass.
class UnmapGate {
 public:
  /// From now on threads that unmap are counted. Before the first close() that matters.
  void use() { used_.store(true, std::memory_order_seq_cst); }

  /// True: leave() is to be called once the memory is unmapped.
  bool enter() {
    if (!used_.load(std::memory_order_relaxed)) return false;
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (closer_.load(std::memory_order_seq_cst) != pthread_t{}) [[unlikely]]
      wait_outside();
    return true;
  }
  void leave() { inside_.fetch_sub(1, std::memory_order_release); }

  /// Waits until no thread is inside and lets none in until open(). False: they do not come out.
  bool close() {
    closing_.lock();
    closer_.store(pthread_self(), std::memory_order_seq_cst);
    Patience patience;
    do {
      if (inside_.load(std::memory_order_seq_cst) == 0) return true;
    } while (patience.wait());
    open();
    return false;
  }
  void open() {
    closer_.store(pthread_t{}, std::memory_order_release);
    closing_.unlock();
  }

  /// The other threads stayed with the parent.
  void after_fork_in_child() { inside_.store(0); }

 private:
  [[gnu::noinline]] void wait_outside() {
    Patience patience;
    for (bool patient = true; patient;) {
      if (closer_.load(std::memory_order_seq_cst) == pthread_t{} || is_mine()) return;
      inside_.fetch_sub(1, std::memory_order_seq_cst);
      patient = patience.wait();
      inside_.fetch_add(1, std::memory_order_seq_cst);
    }
  }
  [[nodiscard]] bool is_mine() const { return closer_.load() == pthread_self(); }

  std::atomic<bool> used_{false};
  std::atomic<int> inside_{0};
  std::atomic<pthread_t> closer_{};
  Spinlock closing_;
};

}  // namespace urxe
