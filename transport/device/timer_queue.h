// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"

namespace urxe {

struct QueuePair;

/// The next deadline of every queue pair that has one: a binary heap, each queue pair in it at most
/// once. A deadline that moves later is noticed when its old time comes, so restarting a timer on
/// every ACK costs nothing.
class TimerQueue {
 public:
  /// Room for `count` queue pairs, so that schedule() does not allocate.
  void reserve(size_t count) { heap_.reserve(count); }

  /// Sees to it that `qp` comes up at `deadline` or before.
  void schedule(QueuePair& qp, Instant deadline);
  void remove(QueuePair& qp);
  [[nodiscard]] std::optional<Instant> next() const;
  /// Takes a queue pair whose time has come off the heap; nullptr: none.
  QueuePair* pop_due(Instant now);

 private:
  void place(size_t index, QueuePair* qp);
  void sift_up(size_t index);
  void sift_down(size_t index);
  std::vector<QueuePair*> heap_;
};

}  // namespace urxe
