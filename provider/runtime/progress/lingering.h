// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Decides whether the thread that drives the device looks again for packets instead of going to
/// sleep, because of a stream of them. Waking it would cost the sender as much as sending dozens of
/// packets through memory. Whoever uses it holds the device's lock.
class Lingering {
 public:
  /// The thread has woken up.
  void begin() { through_memory_ = 0; }
  /// So many packets have come or gone through memory.
  void passed_through_memory(size_t packets) { through_memory_ += static_cast<uint32_t>(packets); }
  /// `packets` have come at `now`, and those before them `interval` ago.
  /// @param little_room The sockets hold little, so that their sender must soon wait for an ACK.
  void came(uint64_t packets, Duration interval, bool little_room, Instant now) {
    if (packets == 0 || now < shared_until_) return;
    if (packets > kSinglePackets && little_room) until_ = now + kLingerForRoom;
    if (interval < kShortInterval) until_ = std::max(until_, now + kShortInterval);
  }
  /// sched_yield(2) has returned after `time`.
  void yielded(Duration time, Instant now) {
    if (time > kSharedYield) shared_until_ = now + kSharedFor;
  }
  /// Whether to look again.
  [[nodiscard]] bool lasts(Instant now) {
    if (through_memory_ >= kStream) {
      through_memory_ = 0;
      until_ = now + kLinger;
    }
    return now < until_ && now >= shared_until_;
  }

 private:
  /// So many packets through memory, received at once or in answer to each other, are a stream.
  static constexpr uint32_t kStream = 8;
  static constexpr Duration kLinger = microseconds(120);
  static constexpr Duration kLingerForRoom = microseconds(60);
  /// If packets come at shorter intervals than this, the next one is waited for so long: it would
  /// wake the thread as soon as it sleeps, which costs more.
  static constexpr Duration kShortInterval = microseconds(40);
  static constexpr uint64_t kSinglePackets = 4;
  /// A yield that takes longer gave this processor to another thread for a whole slice, such as one
  /// that spins until its memory changes. It would do so each time. It is better to sleep then:
  /// Linux prefers a thread that wakes up.
  static constexpr Duration kSharedYield = microseconds(400);
  static constexpr Duration kSharedFor = milliseconds(200);

  Instant until_{};
  Instant shared_until_{};
  uint32_t through_memory_ = 0;  ///< packets since the thread woke up
};

}  // namespace urxe
