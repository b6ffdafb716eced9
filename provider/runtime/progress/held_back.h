// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Requests that wait for others (Gathering) while the application polls. The application sends
/// them when it posts or polls again. If it computes instead, the background thread sends them: it
/// looks for them now and then. A look costs the application tens of microseconds. So the longer no
/// look has found a request that had waited for kLongest, the rarer looks become: one per 1/kShare
/// of that time, and at least one per kMost.
class HeldBack {
 public:
  /// A request that has waited for this long is due.
  static constexpr Duration kLongest = microseconds(50);

  // Under the device's lock:

  /// Requests wait. True: the background thread rests until later than it should look, and must be
  /// woken.
  [[nodiscard]] bool begins(Instant now) {
    if (since_ns_.load(std::memory_order_relaxed) != kNone) return false;
    holds_.store(holds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    since_ns_.store(now.ns);
    return resting_until_ns_.load() > now.ns + allowance_ns_.load(std::memory_order_relaxed);
  }
  /// They have been sent.
  void end() {
    if (since_ns_.load(std::memory_order_relaxed) == kNone) return;
    since_ns_.store(kNone, std::memory_order_relaxed);
  }

  // The background thread:

  /// The application polls from `now` on.
  void application_polls(Instant now) { quiet_since_ = now; }
  /// It rests from `now` on, for `length`, or less: returns for how long.
  [[nodiscard]] Duration rests(Instant now, Duration length) {
    const Duration share{(now - quiet_since_).ns / kShare};
    const Duration allowance = std::clamp(share, kLongest, kMost);
    allowance_ns_.store(allowance.ns, std::memory_order_relaxed);
    if (looks_soon_) {
      length = std::min(length, kLongest);
    } else if (were_any_) {
      length = std::min(length, allowance);
    }
    // A thread that holds requests back sees this, or its mark is seen here.
    resting_until_ns_.store((now + length).ns);
    if (since_ns_.load() != kNone) length = std::min(length, allowance);
    return length;
  }
  /// It rests no more. True: requests have waited for long, and it is to send them.
  [[nodiscard]] bool are_due(Instant now) {
    resting_until_ns_.store(INT64_MIN);
    const uint64_t holds = holds_.load(std::memory_order_relaxed);
    were_any_ = holds != holds_seen_;
    holds_seen_ = holds;
    const int64_t since = since_ns_.load();
    const bool waits = since != kNone;
    const bool is_due = waits && now.ns - since >= kLongest.ns;
    looks_soon_ = waits && !is_due;
    if (is_due) quiet_since_ = now - Duration{(now - quiet_since_).ns / 2};
    return is_due;
  }

 private:
  static constexpr int64_t kNone = INT64_MIN;
  static constexpr int64_t kShare = 64;
  static constexpr Duration kMost = microseconds(200);

  std::atomic<int64_t> since_ns_{kNone};
  std::atomic<uint64_t> holds_{0};
  std::atomic<int64_t> resting_until_ns_{INT64_MIN};
  std::atomic<int64_t> allowance_ns_{kLongest.ns};

  Instant quiet_since_{};
  uint64_t holds_seen_ = 0;
  bool were_any_ = false;
  bool looks_soon_ = false;
};

}  // namespace urxe
