// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>

#include "packet/base/time.h"
#include "packet/wire/gid.h"

struct rte_mbuf;

namespace urxe {

/// Frames that wait, oldest first; at most N.
template <size_t N>
class FrameQueue {
 public:
  struct Entry {
    rte_mbuf* frame = nullptr;
    Gid destination;  ///< these two if the queue's user needs them
    Instant since{};
  };

  /// False: it is full, and the frame still the caller's.
  [[nodiscard]] bool push(rte_mbuf* frame, const Gid& destination = {}, Instant since = {}) {
    if (count_ == N) return false;
    entries_[(first_ + count_++) % N] = {frame, destination, since};
    return true;
  }
  [[nodiscard]] const Entry& front() const { return entries_[first_]; }
  Entry pop() {
    const Entry entry = entries_[first_];
    first_ = (first_ + 1) % N;
    --count_;
    return entry;
  }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }

 private:
  std::array<Entry, N> entries_{};
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace urxe
