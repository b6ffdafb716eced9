// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/timers/timers.h"

#include <algorithm>
#include <new>

#include "transport/cm/messages/alternate_path.h"
#include "transport/cm/messages/rejection.h"
#include "transport/cm/timers/probe.h"

namespace urxe {
namespace {

bool is_retransmitted(const Communication& c) {
  switch (c.state) {
    case CmState::kReqSent:
    case CmState::kMraReqReceived:
    case CmState::kRepSent:
    case CmState::kMraRepReceived:
    case CmState::kDreqSent:
    case CmState::kSidrReqSent:
      return true;
    case CmState::kEstablished:
      return c.alternate == AlternateState::kLapSent ||
             c.alternate == AlternateState::kMraLapReceived;
    default:
      return false;
  }
}

struct TimeoutEvent {
  CmEvent::Kind kind;
  CmBody body;
};
TimeoutEvent timeout_event(CmState state) {
  switch (state) {
    case CmState::kReqSent:
    case CmState::kMraReqReceived:
      return {CmEvent::Kind::kRequestTimeout, CmReq{}};
    case CmState::kRepSent:
    case CmState::kMraRepReceived:
      return {CmEvent::Kind::kReplyTimeout, CmRep{}};
    case CmState::kDreqSent:
      return {CmEvent::Kind::kDisconnectTimeout, CmDreq{}};
    case CmState::kSidrReqSent:
      return {CmEvent::Kind::kServiceTimeout, CmSidrReq{}};
    default:
      return {CmEvent::Kind::kTimeWaitExit, CmDrep{}};
  }
}

void time_out(CmCore& core, Communication& c, Instant now) {
  const CmStep step = cm_step(c.state, CmInput::kTimeout);
  if (step.verdict == CmVerdict::kIllegal) return;
  const TimeoutEvent event = timeout_event(c.state);
  if (step.reply == CmReply::kRejectTimeout) send_rej_timeout(core, c);
  core.tell(c, event.kind, event.body);
  core.enter(c, step.next, now);
}

/// How long to wait for an answer before the next retry or, if no retry is left, before giving up.
Duration pause_before_retry(const CmCore& core, Communication& c) {
  if (c.next_is_early) {
    const Duration next = core.config.first_retry * (int64_t{1} << c.early_retries);
    const Duration passed = next - core.config.first_retry;
    const bool is_within = passed + next < c.request_timeout;
    if (c.early_retries < c.max_retries / 4 && is_within) return next;
    c.next_is_early = false;
    return c.request_timeout - passed;
  }
  // In all, the peer has as much time as without early retries.
  return c.request_timeout * (c.retries_left == 0 ? 1 + c.early_retries : 1);
}

/// A peer that was killed leaves a DREQ unanswered; the kernel of its host may say so, see probe.h.
bool may_look_at_port(const CmCore& core, const Communication& c) {
  return c.state == CmState::kDreqSent && core.config.quiet_after > 0 && is_urxe(core.config, c);
}

/// Has the consumer look at the port, also between two retries. Returns false if a retry is due.
bool look_at_port(CmCore& core, Communication& c, Instant now) {
  if (core.closed_ports.has(c.flow, now)) {
    time_out(core, c, now);
    return true;
  }
  core.tell_quiet(c.flow);
  if (now >= c.retry_at) return false;
  core.arm(c, std::min(c.retry_at - now, core.config.probe_again), now);
  return true;
}

/// REPs that one request lets make room: as many as a source may have.
constexpr int kOverdueAtOnce = 64;

}  // namespace

void await_answer(CmCore& core, Communication& c, Instant now) {
  const Duration pause = pause_before_retry(core, c);
  c.retry_at = now + pause;
  core.arm(c, may_look_at_port(core, c) ? std::min(pause, core.config.probe_again) : pause, now);
}

void make_room_for_requests(CmCore& core, const Gid& peer, Instant now) {
  if (Communication* c = core.requests.overdue(now)) time_out(core, *c, now);
  for (int left = kOverdueAtOnce; left > 0; --left) {
    Communication* const c = core.requests.overdue_of(peer, now);
    if (c == nullptr) return;
    time_out(core, *c, now);
  }
}

namespace {

/// Timers that one call runs: the caller holds up others.
constexpr int kTimersAtOnce = 64;

/// The deadline of a communication has come.
void run_timer(CmCore& core, Communication& c, Instant now) {
  if (!is_retransmitted(c)) return time_out(core, c, now);
  if (may_look_at_port(core, c) && look_at_port(core, c, now)) return;
  if (c.retries_left > 0) {
    --c.retries_left;
    if (c.next_is_early) ++c.early_retries;
    core.repeat_request(c);
    await_answer(core, c, now);
    return;
  }
  if (c.state == CmState::kEstablished) return time_out_alternate_path(core, c);
  time_out(core, c, now);
}

}  // namespace

void ConnectionManager::advance(Instant now) {
  CmCore& core = begin_call();
  for (int left = kTimersAtOnce; left > 0; --left) {
    Communication* const c = core.deadlines.pop_due(now);
    if (c == nullptr) break;
    try {
      run_timer(core, *c, now);
    } catch (const std::bad_alloc&) {
      core.arm(*c, kLeastRetryInterval, now);
    }
  }
  for (int left = kTimersAtOnce; left > 0; --left) {
    PeerProcess* const process = core.processes.deadlines.pop_due(now);
    if (process == nullptr) break;
    try {
      run_probe(core, *process, now);
    } catch (const std::bad_alloc&) {
      core.processes.deadlines.set(*process, now + kLeastRetryInterval);
    }
  }
  core.tell_of_requests(nullptr);
}

std::optional<Instant> ConnectionManager::next_deadline() const {
  const auto timer = core_->deadlines.next();
  const auto probe = core_->processes.deadlines.next();
  if (!timer || !probe) return timer ? timer : probe;
  return std::min(*timer, *probe);
}

}  // namespace urxe
