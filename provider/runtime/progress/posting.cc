// SPDX-License-Identifier: BSD-2-Clause
// The part of Progress that sends what the application posts, at once or a little later.
#include "packet/host/clock.h"
#include "provider/runtime/progress/progress.h"

namespace urxe {
namespace {

/// Small requests that may wait for each other.
constexpr uint32_t kGatheredPosts = 16;
constexpr uint32_t kSmallRequest = 4096;  ///< bytes
/// Between unanswered requests of one burst.
constexpr Duration kBurstGap = microseconds(3);

}  // namespace

/// Whether the request may wait for others, so that one system call sends several. The next poll of
/// the application sends them, and so does the response that is due. A request goes out at once if
/// nothing is in flight, or, for services without responses, if it does not follow close behind
/// another. An application that goes off to compute instead does not poll: then the background
/// thread sends it, after kLongestWait at most.
bool Progress::may_gather(QueuePair& qp) {
  if (mode_.load() != Mode::kResting || armed_.load() != 0) return false;
  const bool answered = qp.service == Service::kRc || qp.service == Service::kXrc;
  const bool answer_due = qp.path != nullptr && qp.path->in_flight() > 0;
  if (answered ? !answer_due : clock_now() - last_transmission_ > kBurstGap) return false;
  return qp.sq.at(qp.sq.posted() - 1).length <= kSmallRequest && ++gathered_posts_ < kGatheredPosts;
}

void Progress::on_post(QueuePair& qp) {
  if (lock_.try_lock()) {
    device_.take_posted(qp);
  } else {
    device_.ring_doorbell(qp);
    if (!lock_.try_lock()) return;  // the holder checks for doorbells when it unlocks
  }
  const bool waits = may_gather(qp);
  Instant now = clock_now();
  if (waits) {
    lock_.unlock();
    hold_back(now);
    return;
  }
  reply_wait_.posts(now);
  request_came_.store(false, std::memory_order_relaxed);
  transmit(AckPolicy::kUrgentOnly, now);
  finish(now);
  unlock();
}

/// The background thread either sees the mark before it goes to rest, or says how long it rests.
void Progress::hold_back(Instant now) {
  if (held_back_.exchange(true)) return;
  if (resting_until_ns_.load() > (now + kLongestWait).ns) kick();
}

}  // namespace urxe
