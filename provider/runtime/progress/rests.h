// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// How long the background thread rests while the application polls, before it looks whether that
/// still does. The first rest is short, because the application may have stopped polling to wait
/// for memory to change; each further one is twice as long. Each look takes a processor some tens
/// of microseconds, perhaps the one that polls; so the longer the application has polled without a
/// pause, the longer the rests, in proportion. One thread uses it.
class Rests {
 public:
  /// A rest begins.
  void begin(Instant now) {
    if (polls_) return;
    polls_ = true;
    since_ = now;
    length_ = kFirst;
  }
  /// Of this rest.
  [[nodiscard]] Duration length() const { return length_; }
  /// This rest, or the next one, is no longer than `most`.
  void limit(Duration most) { length_ = std::min(length_, most); }
  /// The application does not poll any more.
  void end() { polls_ = false; }
  /// A rest is over, and the application still polls.
  void lengthen(Instant now) {
    const Duration proportional{(now - since_).ns / kShare};
    length_ = std::min(length_ * 2, std::clamp(proportional, kLong, kLongest));
  }
  /// Whether the application has polled for some milliseconds.
  [[nodiscard]] bool are_long() const { return length_ >= kLong; }

 private:
  static constexpr Duration kFirst = microseconds(50);
  static constexpr Duration kLong = microseconds(800);
  /// Well below the time after which a peer asks for an answer that is late, some milliseconds:
  /// so long may packets wait after the application has stopped polling.
  static constexpr Duration kLongest = microseconds(1600);
  static constexpr int64_t kShare = 64;

  bool polls_ = false;
  Instant since_{};  ///< it polls
  Duration length_ = kFirst;
};

}  // namespace urxe
