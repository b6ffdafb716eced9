// SPDX-License-Identifier: BSD-2-Clause
// The part of Progress that sends what the application posts, at once or a little later.
#include "packet/host/clock.h"
#include "provider/runtime/progress/progress.h"

namespace urxe {
namespace {

/// Whether the payload must be read before the call that posted it returns. A datagram's completion
/// tells the application nothing of its arrival, so some write to its buffer when the peer has
/// shown in another way that it is there, or that it is not needed any more: UCX, if both ends of a
/// connection ask for it at once. An adapter has read it by then.
bool is_read_at_once(QueuePair& qp) {
  return qp.service == Service::kUd && !qp.sq.at(qp.sq.posted() - 1).is_inline;
}

}  // namespace

/// Whether the request waits for others. The next poll of the application sends them, and so does
/// the response that is due. An application that goes off to compute instead does not poll: then
/// the background thread sends it, after kLongestWait at most.
bool Progress::may_gather(QueuePair& qp, Instant now) {
  const Gathering::Post post{
      .bytes = qp.sq.at(qp.sq.posted() - 1).length,
      .is_answered = qp.service == Service::kRc || qp.service == Service::kXrc,
      .answer_due = qp.path != nullptr && qp.path->in_flight() > 0,
      .polls = mode_.load() == Mode::kResting && armed_.load() == 0,
  };
  return gathering_.waits(post, now);
}

/// True: the lock is held, to send. False: its holder sends, because it looks for doorbells when it
/// unlocks; but it may have lost the processor.
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

/// Reads the payloads of what is posted into the batch, which goes out later. False: there is no
/// room, and what is in the batch must go out now.
bool Progress::prepare(Instant now) {
  if (!batch_ || has_left_ || waits_for_room()) return false;
  const bool more = device_.transmit(*batch_, now, AckPolicy::kUrgentOnly);
  batch_->gather();
  is_prepared_ = !batch_->empty();
  return !more;
}

void Progress::on_post(QueuePair& qp) {
  if (!lock_for(qp)) return;
  const Instant now = clock_now();
  if (may_gather(qp, now) && (!is_read_at_once(qp) || prepare(now))) {
    hold_back(now);
    return;
  }
  reply_wait_.posts(now);
  request_came_.store(false, std::memory_order_relaxed);
  transmit(AckPolicy::kUrgentOnly, now);
  finish(now);
  gathering_.returns(clock_now());
  unlock();
}

/// Unlocks; what waits is sent within kLongestWait. A thread that is awake sends it before it
/// sleeps, and one that sleeps is woken in time. One that rests, or is going to, either sees the
/// mark before, or says how long it rests.
void Progress::hold_back(Instant now) {
  const Instant latest = now + kLongestWait;
  const bool rests = mode_.load() == Mode::kResting;
  if (!rests) wake_by(latest);
  const bool was_marked = held_back_.exchange(true);
  lock_.unlock();
  if (rests && !was_marked && resting_until_ns_.load() > latest.ns) kick();
}

}  // namespace urxe
