// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Decides which requests wait for others, so that one system call sends several. Whoever uses it
/// holds the device's lock.
class Gathering {
 public:
  /// What is known of a request that has just been posted.
  struct Post {
    uint32_t bytes = 0;
    bool is_answered = false;  ///< its service has acknowledgements
    bool answer_due = false;   ///< one is due for another request on its path
    bool polls = false;        ///< the application polls, and has armed no completion queue
  };

  /// True: the request waits. It goes out at once if no answer is due, whose arrival would send it;
  /// without acknowledgements, if it does not follow another one closely. If the application does
  /// not poll, requests wait only if it posts many in a row.
  [[nodiscard]] bool waits(const Post& post, Instant now) {
    row_ = now - posted_ < kGap ? row_ + 1 : 1;
    posted_ = now;
    if (!post.polls && row_ < kManyInARow) return false;
    if (post.is_answered ? !post.answer_due : row_ == 1) return false;
    if (posts_ == 0) since_ = now;
    if (now - since_ > kLongest) return false;
    bytes_ += post.bytes;
    return post.bytes <= kSmall && ++posts_ < kMostPosts && bytes_ < kMostBytes;
  }
  /// Whether the next request may use last() as its time: requests wait, and the clock was read for
  /// one of the last few. Reading the clock costs a good part of a post.
  [[nodiscard]] bool was_just_now() const { return posts_ % kTimedPost != 0; }
  [[nodiscard]] Instant last() const { return posted_; }
  /// All waiting requests have been sent.
  void clear() { posts_ = bytes_ = 0; }
  /// The call that sent the last request returns. The time that sending took is no pause between
  /// requests.
  void returns(Instant now) { posted_ = now; }

 private:
  static constexpr uint32_t kSmall = 4096;  ///< bytes
  /// With more, the peer would be idle while they are posted.
  static constexpr uint32_t kMostPosts = 32;
  /// As many as fit into a datagram of the engine udp.
  static constexpr uint32_t kMostBytes = 61440;
  static constexpr uint32_t kTimedPost = 4;  ///< the clock is read for every fourth waiting post
  /// No more requests join one that has waited longer than this: the application posts slowly.
  static constexpr Duration kLongest = microseconds(40);
  static constexpr uint32_t kManyInARow = 8;
  /// Between requests in a row.
  static constexpr Duration kGap = microseconds(3);

  uint32_t row_ = 0;
  uint32_t posts_ = 0;  ///< calls whose requests wait
  uint32_t bytes_ = 0;  ///< of those requests
  Instant since_{};     ///< the first of them waits
  Instant posted_{INT64_MIN / 2};
};

}  // namespace urxe
