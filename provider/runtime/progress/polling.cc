// SPDX-License-Identifier: BSD-2-Clause
// The part of Progress by which a thread that polls drives the device.
#include "provider/runtime/progress/progress.h"

namespace urxe {
namespace {

/// Rounds of receiving that one call to poll makes at most.
constexpr int kInlineRounds = 4;
/// Between two looks at the timers while polls find no packet.
constexpr Duration kAdvanceInterval = microseconds(1);
/// An application that polls in vain for longer than this gives way to others, because the peer
/// that it waits for may need the processor.
constexpr Duration kSpinTime = microseconds(20);
/// The same if others want the processor: it then sleeps, and is woken when packets come.
constexpr Duration kCrowdedSpinTime = microseconds(3);
/// It gives way no more often than this, however fast a poll is: each time, another process may
/// keep the processor for a while.
constexpr Duration kYieldInterval = microseconds(2);
/// An application that does not poll for longer than this leaves ACKs to the background thread.
constexpr Duration kOverdue = microseconds(200);

}  // namespace

/// The application may go off to watch its memory.
void Progress::note_taken() {
  const bool with_request = request_came_.load(std::memory_order_relaxed);
  if (departures_.must_tell(with_request) && mode_.load() == Mode::kResting) kick();
}

void Progress::drive_inline(const CompletionQueue& cq) {
  missed_locks_.store(0, std::memory_order_relaxed);
  if (!engine_) {
    unlock();
    return;
  }
  Instant now = clock_.now();
  note_overdue_ack(now);
  drive_rounds(cq, now);
  finish(now);
  const Duration spin_time = crowding_.is_crowded(now) ? kCrowdedSpinTime : kSpinTime;
  const bool spins = now - last_empty_poll_ < kSpinTime;
  last_empty_poll_ = now;
  const Duration silence = now - last_arrival_;
  const bool gives_way = spins && silence > spin_time && now - last_yield_ > kYieldInterval;
  if (gives_way) last_yield_ = now;
  unlock();
  if (gives_way) give_way(cq, silence);
}

/// Notices that the application has not polled for long, while an ACK waited. ACKs that wait for a
/// reply while it polls do not count.
void Progress::note_overdue_ack(Instant now) {
  if (mode_.load(std::memory_order_relaxed) != Mode::kResting || !device_.has_deferred_acks()) {
    return;
  }
  if (now - last_empty_poll_ > kOverdue && !crowding_.is_crowded(now)) {
    departures_.was_missed();
  }
}

void Progress::drive_rounds(const CompletionQueue& cq, Instant now) {
  for (int round = 0; round < kInlineRounds && cq.empty(); ++round) {
    if (!receive(now)) {
      if (round > 0 || now - last_advance_ >= kAdvanceInterval) advance(now);
      transmit(policy_when_idle(now), now);
      return;
    }
    // An ACK may share its datagram with the application's reply to this packet. If there is no
    // reply, a later poll that finds no packet sends the ACK.
    transmit(AckPolicy::kUrgentOnly, now);
  }
}

}  // namespace urxe
