// SPDX-License-Identifier: BSD-2-Clause
// The part of Progress that sends what the application posts, at once or a little later.
#include "provider/runtime/progress/progress.h"

namespace urxe {
namespace {

/// Whether the payload must be read before the call that posted it returns. UCX reuses the buffer
/// of a datagram before its completion, if both ends of a connection request it at the same time:
/// the peer's request makes its own unnecessary. An adapter has read the buffer by then. The last
/// request of the call decides.
bool is_read_at_once(QueuePair& qp) {
  return qp.service == Service::kUd && !qp.sq.at(qp.sq.posted() - 1).is_inline;
}

}  // namespace

/// Whether the request waits for others. The next poll of the application sends them all, and so
/// does the arrival of a response. If the application computes instead, the background thread sends
/// them: see HeldBack.
bool Progress::may_gather(QueuePair& qp, Instant now) {
  const Gathering::Post post{
      .bytes = qp.sq.at(qp.sq.posted() - 1).length,
      .is_answered = qp.service == Service::kRc || qp.service == Service::kXrc,
      .answer_due = qp.path != nullptr && qp.path->in_flight() > 0,
      .polls = mode_.load() == Mode::kResting && armed_.load() == 0,
  };
  return gathering_.waits(post, now);
}

/// True: this thread has the lock, and is to send. False: another thread has it, and sends, because
/// it checks for doorbells when it unlocks.
bool Progress::lock_for(QueuePair& qp) {
  if (lock_.try_lock()) {
    device_.take_posted(qp);
    return true;
  }
  device_.ring_doorbell(qp);
  if (lock_.try_lock()) return true;
  Patience patience;
  return is_read_at_once(qp) && !lock_.is_mine() && lock_.lock_within(patience);
}

/// Builds the packets of posted requests into the batch, for a later transmission. False: the batch
/// is full, or waits for room in the engine.
bool Progress::prepare(Instant now) {
  if (!batch_ || has_left_ || waits_for_room()) return false;
  const bool more = device_.transmit(*batch_, now, AckPolicy::kUrgentOnly);
  batch_->gather();
  is_prepared_ = !batch_->empty();
  return !more;
}

void Progress::on_post(QueuePair& qp) {
  if (!lock_for(qp)) return;
  inline_posts_.store(inline_posts_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const bool is_early = gathering_.was_just_now();
  Instant now = is_early ? gathering_.last() : clock_.now();
  if (may_gather(qp, now) && (!is_read_at_once(qp) || prepare(now))) {
    hold_back(now);
    return;
  }
  if (is_early) now = clock_.now();
  reply_wait_.posts(now);
  request_came_.store(false, std::memory_order_relaxed);
  transmit(AckPolicy::kUrgentOnly, now);
  finish(now);
  gathering_.returns(clock_.now());
  unlock();
}

/// Unlocks. The background thread sends the waiting requests in time: if it is awake, before it
/// sleeps; if it sleeps, an alarm wakes it; if it rests, see HeldBack.
void Progress::hold_back(Instant now) {
  if (mode_.load() != Mode::kResting) wake_by(now + HeldBack::kLongest);
  const bool must_kick = held_back_.begins(now);
  unlock();
  if (must_kick) kick();
}

}  // namespace urxe
