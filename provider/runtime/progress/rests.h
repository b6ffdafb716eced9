// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Decides how long the background thread rests, while the application polls, before it checks that
/// the application still does. The first rest is short, because the application may have stopped
/// polling to wait for memory to change; each further one is up to twice as long. A check may take
/// tens of microseconds from the polling thread, so the longest rest grows in proportion to the
/// time for which the application has polled without a pause. One thread uses it.
class Rests {
 public:
  /// A rest begins. True: the application polls from now on.
  bool begin(Instant now) {
    if (polls_) return false;
    polls_ = true;
    since_ = polled_ = now;
    length_ = kFirst;
    return true;
  }
  /// Of this rest.
  [[nodiscard]] Duration length() const { return length_; }
  /// The application does not poll any more.
  void end() { polls_ = false; }
  /// Whether an application that has only posted since the last look counts as polling: it polled
  /// a moment ago, and posting many requests takes a while.
  [[nodiscard]] bool may_post_on(Instant now) const { return now - polled_ < kPostsOn; }
  /// A rest is over, and the application still polls.
  void lengthen(Instant now) {
    polled_ = now;
    const Duration proportional{(now - since_).ns / kShare};
    length_ = std::min(length_ * 2, std::clamp(proportional, kLong, kLongest));
  }
  /// Whether the application has polled for some milliseconds.
  [[nodiscard]] bool are_long() const { return length_ >= kLong; }

 private:
  static constexpr Duration kFirst = microseconds(50);
  static constexpr Duration kLong = microseconds(800);
  /// Packets may wait this long after the application has stopped polling. A peer probes after some
  /// milliseconds without an answer.
  static constexpr Duration kLongest = microseconds(1600);
  static constexpr int64_t kShare = 64;
  static constexpr Duration kPostsOn = microseconds(200);

  bool polls_ = false;
  Instant since_{};   ///< it polls
  Instant polled_{};  ///< it has polled until then
  Duration length_ = kFirst;
};

}  // namespace urxe
