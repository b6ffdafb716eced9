// SPDX-License-Identifier: BSD-2-Clause
// What a process does for its peers, and tells its user, when it exits, or a queue pair fails or
// ends.
#include "packet/host/clock.h"
#include "provider/observation/failure_log.h"
#include "provider/runtime/progress/progress.h"

namespace urxe {
namespace {

/// In so many rounds an engine has read all its sockets.
constexpr int kExitRounds = 32;

}  // namespace

void Progress::finish_at_exit() {
  if (lock_.is_mine()) return;  // exit() was called by a signal's handler.
  Patience patience;
  bool in_time = true;
  bool ended = false;
  while (!ended && lock_.lock_within(patience)) {
    ended = end_communications() || !in_time;
    if (ended && engine_) say_farewell(clock_now());
    lock_.unlock();
    if (!ended) in_time = patience.wait();
  }
}

bool Progress::end_communications() {
  const auto at_exit = communication_sink().at_exit;
  return !engine_ || owner_ == nullptr || at_exit == nullptr || at_exit(*owner_);
}

/// The kernel may have put other processes' packets into this process's sockets, even packets that
/// it has just sent to another process of this host. They are forwarded now, or they would be lost.
void Progress::say_farewell(Instant now) {
  transmit(AckPolicy::kAll, now);
  for (int round = 0; round < kExitRounds; ++round) receive(now);
  transmit(AckPolicy::kAll, now);
  engine_->leave();
  publish_counters(now);
  for (size_t place = 0; place < device_.report_places(); ++place) tell_end(place, now);
  publication_.reports.end(now);
  has_left_ = true;
}

/// After the farewell all was told.
void Progress::note_end(const QueuePair& qp) {
  if (!has_left_) tell_end(qp.place, clock_now());
}

void Progress::tell_end(size_t place, Instant now) {
  publication_.reports.end_queue_pair(device_, place, now);
  explain(place);
}

/// At once, and not when the next reports are due: many programs end at the first error, also by
/// abort(3), which leaves no time.
void Progress::tell_failures(Instant now) {
  last_reports_ = {};
  publish_reports(now);
  const uint64_t failures = device_.counters().failures;
  if (publication_.explains && may_tell_failures()) {
    for (size_t place = 0; place < device_.report_places(); ++place) explain(place);
  } else if (publication_.explains) {
    count_untold_failures(failures - failures_told_);
  }
  failures_told_ = failures;
}

/// Says why the queue pair has failed, unless this was said.
void Progress::explain(size_t place) {
  if (!publication_.explains) return;
  const auto report = device_.report(place);
  const ErrorCause* const cause = report ? failure_of(*report) : nullptr;
  if (cause != nullptr && cause->number > failures_told_) {
    tell_failure(publication_.device, *report);
  }
}

}  // namespace urxe
