// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"

namespace urxe {

/// How long packets wait for room in a queue from which nothing leaves. Whoever should take them is
/// stopped, then, and packets to others wait behind them.
inline constexpr Duration kUsualPatience = milliseconds(100);

/// Watches a queue that may be full.
class StallWatch {
 public:
  /// Something has left the queue.
  void note_left() { is_full_ = false; }
  /// Something has found no room. Returns whether nothing has left for longer than `patience`
  /// since that happened first.
  [[nodiscard]] bool is_stalled(Instant now, Duration patience) {
    if (!is_full_) since_ = now;
    is_full_ = true;
    return now - since_ > patience;
  }

 private:
  bool is_full_ = false;
  Instant since_{};
};

}  // namespace urxe
