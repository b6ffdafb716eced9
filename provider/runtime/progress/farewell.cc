// SPDX-License-Identifier: BSD-2-Clause
// What a process does for its peers when it exits.
#include "packet/host/clock.h"
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
  return !engine_ || at_exit == nullptr || at_exit(owner_);
}

/// The kernel may have put other processes' packets into this process's sockets, even packets that
/// it has just sent to another process of this host. They are forwarded now, or they would be lost.
void Progress::say_farewell(Instant now) {
  transmit(AckPolicy::kAll, now);
  for (int round = 0; round < kExitRounds; ++round) receive(now);
  transmit(AckPolicy::kAll, now);
  engine_->leave();
  publish_counters(now);
  publication_.reports.remove();
}

}  // namespace urxe
