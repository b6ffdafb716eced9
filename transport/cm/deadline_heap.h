// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "transport/cm/communication.h"

namespace urxe {

/// The deadline of every communication that has one: a binary heap, each communication in it at
/// most once. As TimerQueue, but a deadline may move either way.
class DeadlineHeap {
 public:
  /// Room for `count` communications, so that set() does not allocate.
  void reserve(size_t count);
  void set(Communication& communication, Instant deadline);
  void clear(Communication& communication);
  [[nodiscard]] std::optional<Instant> next() const;
  /// Takes a communication whose time has come off the heap; nullptr: none.
  Communication* pop_due(Instant now);

 private:
  void place(size_t index, Communication* communication);
  void sift_up(size_t index);
  void sift_down(size_t index);
  std::vector<Communication*> heap_;
};

}  // namespace urxe
