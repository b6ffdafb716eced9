// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace urxe {

/// Decides whether a thread that has taken a completion wakes the background thread, which rests
/// while the application polls. Most applications poll again at once. But one that then watches its
/// memory, for what a peer is going to write there, does not drive the device: until the end of the
/// rest nobody would. Waking a thread costs microseconds, so it is done only in programs that have
/// been seen to stop polling while packets came, or while an ACK waited. This is learnt separately
/// for completions that come with a peer's request, because the application may have been waiting
/// for that request only.
class Departures {
 public:
  /// Why the background thread has ended its rest.
  enum class Return : uint8_t {
    kNobodyPolls,  ///< it has seen that itself
    kTold,         ///< a thread that has taken a completion has woken it
    kOther,
  };

  /// Any thread: it has taken a completion. True: it must wake the background thread.
  /// `with_request`: a request has come since the application last posted.
  [[nodiscard]] bool must_tell(bool with_request) {
    last_.store(with_request, std::memory_order_relaxed);
    if (!is_told_of_[with_request].load(std::memory_order_relaxed)) return false;
    return !told_.exchange(true);
  }
  /// Under the device's lock: an ACK has waited long, because nobody was told.
  void was_missed() {
    const bool with_request = last_.load(std::memory_order_relaxed);
    certainty_[with_request] = std::min(certainty_[with_request] + 2, kMostCertain);
    is_told_of_[with_request].store(true, std::memory_order_relaxed);
  }
  /// Any thread: whether must_tell() was true since the background thread began its rest.
  [[nodiscard]] bool was_told() const { return told_.load(); }

  // The background thread:

  void returns(Return why) {
    why_ = why;
    served_ = 0;
  }
  /// So many packets, or an ACK.
  void serves(uint64_t packets) { served_ += packets; }
  /// Under the device's lock: the application polls again.
  void goes_to_rest() {
    const bool with_request = last_.load(std::memory_order_relaxed);
    int& certainty = certainty_[with_request];
    if (why_ == Return::kNobodyPolls && served_ > 0) {
      certainty = std::min(certainty + 2, kMostCertain);
    } else if (why_ == Return::kTold) {
      certainty = served_ > 0 ? std::min(certainty + 1, kMostCertain) : certainty - 1;
    }
    why_ = Return::kOther;
    is_told_of_[with_request].store(certainty > 0, std::memory_order_relaxed);
    told_.store(false);
  }

 private:
  static constexpr int kMostCertain = 8;

  // Of both kinds of completions: [with_request].
  std::array<std::atomic<bool>, 2> is_told_of_{};
  std::array<int, 2> certainty_{};
  std::atomic<bool> last_{false};  ///< with_request of the last completion
  std::atomic<bool> told_{false};

  Return why_ = Return::kOther;
  uint64_t served_ = 0;  ///< packets and ACKs since then
};

}  // namespace urxe
