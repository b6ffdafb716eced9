// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Decides how long an ACK waits for the application's reply to the request, with which it can
/// share a datagram. Then the peer, too, sees the end of its own request no earlier than the reply:
/// a thread that waits for one after the other, as in a ping-pong of WRITEs, drives its device
/// until it has both. If the ACK came first, that thread would go off to watch its memory, and its
/// background thread would have to take the reply.
///
/// An ACK waits only if the application has replied to the request before, and twice as long as
/// the last quick reply took; and not while the application's own requests are unanswered. The
/// application may need those answers before it goes on: if each of two peers, or each of a ring of
/// them, kept its ACKs until its own next request, all of them would wait in vain.
///
/// The exception: a peer that replies by a long message sends the ACK that the application needs
/// behind that message. So ACKs also wait for a moment after the packets of a long message, if the
/// application has posted something lately. However many arrive, no ACK waits longer than
/// kLongestBehindBursts for that: it may be another peer's.
class ReplyWait {
 public:
  /// One call has received so many packets.
  void receives(size_t packets, Instant now) {
    const bool is_tail = packets > 0 && now - burst_ < kTail;
    if (packets >= kBurst || is_tail) burst_ = now;
  }
  /// The application has posted a request.
  void posts(Instant now) {
    if (posted_ < owed_) note_reply(now - owed_);
    posted_ = now;
  }
  /// An ACK is owed, and no other was.
  void owes_ack(Instant now) {
    const bool replies = posted_ > owed_ && now - posted_ < kRecent && trust_ > 0;
    until_ = replies ? now + std::clamp(reply_time_ * 2, kShortest, kLongest) : now;
    owed_ = now;
  }
  /// The ACK waits for the reply until then.
  [[nodiscard]] Instant until() const { return until_; }
  /// Whether it still waits. `awaits_answers`: requests of the application are unanswered.
  [[nodiscard]] bool holds(Instant now, bool awaits_answers) const {
    const bool may_reply = now - posted_ < kRecent && now - owed_ < kLongestBehindBursts;
    return (may_reply && now - burst_ < kBehindBurst) || (!awaits_answers && now < until_);
  }

 private:
  /// A late reply does not mean that the next one will be late, too: the thread may have lost its
  /// processor.
  void note_reply(Duration time) {
    if (time < kLongest) {
      reply_time_ = time;
      trust_ = kTrust;
    } else if (trust_ > 0) {
      --trust_;
    }
  }

  static constexpr Duration kRecent = milliseconds(5);
  static constexpr Duration kShortest = microseconds(20);
  static constexpr Duration kLongest = microseconds(100);
  /// So many packets at once belong to a long message; those within kTail may be the rest of it.
  static constexpr size_t kBurst = 8;
  static constexpr int kTrust = 3;  ///< late replies in a row that are forgiven
  static constexpr Duration kTail = microseconds(50);
  static constexpr Duration kBehindBurst = microseconds(12);
  static constexpr Duration kLongestBehindBursts = microseconds(500);

  Instant posted_{INT64_MIN / 2};
  Instant owed_{INT64_MIN / 2};
  Duration reply_time_{};  ///< of the last quick one
  int trust_ = 0;          ///< further late replies that are forgiven
  Instant until_{};
  Instant burst_{INT64_MIN / 2};
};

}  // namespace urxe
