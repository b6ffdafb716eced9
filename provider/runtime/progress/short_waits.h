// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Decides how long a thread that waits for packets looks for them before it sleeps. Sleeping
/// and being woken costs a thread, and the one that wakes it, tens of microseconds. So if packets
/// mostly come sooner, it looks; if they do not, it sleeps at once, and looks again now and then.
///
/// Two ends that answer each other must both look: the answer of one that sleeps comes late. So a
/// few late packets in a row are waited for, too.
class ShortWaits {
 public:
  /// A wait begins: for how long it looks. 0: not at all.
  Duration begin() {
    if (sleeps_left_ > 0) {
      --sleeps_left_;
      return {};
    }
    return late_ < kLateInARow ? kLate : kShort;
  }
  /// The packet came `after` the wait had begun, before begin()'s time was over.
  void came(Duration after) {
    if (after > kShort) {
      ++late_;
    } else {
      late_ = 0;
      sleeps_ = 1;
    }
  }
  /// It did not.
  void did_not_come() {
    sleeps_left_ = sleeps_;
    sleeps_ = std::min(sleeps_ * 2, kMostSleeps);
    late_ = 0;
  }

 private:
  static constexpr Duration kShort = microseconds(50);
  static constexpr Duration kLate = microseconds(100);
  static constexpr uint32_t kLateInARow = 8;
  static constexpr uint32_t kMostSleeps = 64;

  uint32_t late_ = 0;         ///< packets in a row that came late
  uint32_t sleeps_ = 1;       ///< waits that sleep at once after one that has looked in vain
  uint32_t sleeps_left_ = 0;  ///< such waits to come
};

}  // namespace urxe
