// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/retry.h"

#include <algorithm>

#include "packet/wire/ack_timeout.h"
#include "packet/wire/aeth_syndrome.h"
#include "transport/observation/note_cause.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/note_answer.h"
#include "transport/requester/probe.h"
#include "transport/requester/repair.h"
#include "transport/requester/requester.h"
#include "transport/requester/room.h"
#include "transport/requester/round_trip.h"

namespace urxe {
namespace {

constexpr uint8_t kRnrRetryForEver = 7;
constexpr uint32_t kMaxProbeBackoff = 10;
/// How many ACK timeouts in a row cost no retry at most, and on a crowded host for how long.
constexpr uint32_t kMostFreeTimeouts = 32;
constexpr Duration kCrowdedPatience = seconds(4);
/// An ACK timeout may last four times as long as it is set (9.7.6.1.3). Short ones do so when they
/// are repeated, up to a bound: a busy host may keep a process waiting for a second.
constexpr uint32_t kMostAckDoublings = 2;
constexpr Duration kLongestDoubled = milliseconds(300);
constexpr int64_t kMostStretched = 4;
constexpr Duration kLongestStretched = seconds(1);
/// So many packets are found to be missing one by one. A peer that is only slow has the packets
/// behind the one that it is asked about, and so acknowledges more.
constexpr uint32_t kLoneAnswers = 2;

void schedule(ChannelAdapter& ca, QueuePair& qp) {
  const RequesterState& req = qp.requester;
  for (const auto& deadline : {req.rnr_until, req.ack_deadline, req.probe_deadline}) {
    if (deadline) ca.timers.schedule(qp, *deadline);
  }
}

void start_probe_timer(QueuePair& qp, Instant now, MaybeDuration timeout) {
  RequesterState& req = qp.requester;
  const bool repairs = repairs_after_silence(qp);
  const bool is_early = repairs || qp.path->is_lossy(now);
  const Duration first = is_early ? qp.path->repair_timeout() : qp.path->probe_timeout();
  const Duration probe = first * (int64_t{1} << (repairs ? req.silent_repairs : req.probe_backoff));
  // A probe is of no use if the ACK timeout comes first.
  if (!timeout || probe < *timeout) req.probe_deadline = now + probe;
}

/// The local ACK timeout is never shorter than what an answer takes that is on its way, through the
/// queues at both ends. What it takes cannot be measured while everything is sent again. It
/// is at most four times the attribute, as the specification allows (9.7.6.1.3), or
/// kLongestStretched if that is longer: otherwise a peer that was stopped once could be gone for
/// minutes before that is noticed.
MaybeDuration effective_timeout(const ChannelAdapter& ca, const QueuePair& qp) {
  const MaybeDuration timeout = ack_timeout(ca, qp);
  if (!timeout) return {};
  const Duration doubled = *timeout * (int64_t{1} << qp.requester.ack_doublings);
  const Duration longest = std::max(*timeout, std::min(doubled, kLongestDoubled));
  const Duration most = std::max(*timeout * kMostStretched, kLongestStretched);
  return std::max(longest, std::min(most, qp.path->round_trip_bound()));
}

void stop_timers(RequesterState& req) {
  req.ack_deadline.reset();
  req.probe_deadline.reset();
}

void back_off(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  if (qp.path->on_loss(now)) ++ca.counters.congestion_backoffs;
}

void note_spent(QueuePair& qp, ErrorReason reason, uint8_t retries, uint8_t syndrome) {
  ErrorCause cause;
  cause.reason = reason;
  cause.retries = retries;
  cause.syndrome = syndrome;
  cause.psn = qp.requester.oldest_unacked;
  cause.free_timeouts =
      static_cast<uint8_t>(std::min(qp.requester.free_timeouts, kMostFreeTimeouts));
  note_cause(qp, cause);
}

/// Spends one retry. False: none was left, and the queue pair has migrated to its alternate path or
/// is in ERR.
bool take_retry(ChannelAdapter& ca, QueuePair& qp, ErrorReason reason) {
  if (qp.requester.retries_left > 0) {
    --qp.requester.retries_left;
    return true;
  }
  if (migrate_if_armed(ca, qp)) return false;
  ++ca.counters.retries_exceeded;
  note_spent(qp, reason, qp.attr.retry_cnt, 0);
  fail_oldest_send(ca, qp, IBV_WC_RETRY_EXC_ERR);
  return false;
}

/// Whether an ACK timeout is perhaps for want of a processor. Either this process had none: it
/// notices the timeout a whole timeout after it was due, and what the peer has sent is only now
/// being read. Or the host is crowded: a peer on it waits. Such a timeout asks again, but costs
/// no retry; not for ever, because the peer may be gone all the same.
bool lacks_processor(const ChannelAdapter& ca, RequesterState& req, Instant now, Duration timeout) {
  const bool late = now - *req.ack_deadline >= timeout;
  const bool crowded =
      ca.host_is_crowded && timeout * (int64_t{req.free_timeouts} + 1) <= kCrowdedPatience;
  return (late || crowded) && req.free_timeouts++ < kMostFreeTimeouts;
}

/// A timer has expired: nothing was heard of the peer.
void on_silence(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  req.probe_backoff = std::min(req.probe_backoff + 1, kMaxProbeBackoff);
  req.sample_is_doubtful = true;  // the answer may be to the probe
  // A responder that has sent its NAK waits for the oldest packet: the newest would tell it
  // nothing.
  const bool newest_has_asked = req.last_probe == RequesterState::Probe::kNewest;
  if (req.resending) req.last_probe = RequesterState::Probe::kNewest;
  req.resending = false;
  const bool run_is_lost = newest_has_asked && req.lone_answers >= kLoneAnswers;
  if (req.probe_answered && (run_is_lost || !newest_can_ask(qp))) {
    // The peer is there. Nothing comes behind the response that was asked for; or the peer waits
    // for one packet after the other, and its NAKs are lost.
    return ask_for_rest(ca, qp, now);
  }
  if (++req.silences > 1) {
    // The packets in flight are lost, or will be: others may use their room.
    back_off(ca, qp, now);
    give_back_all(ca, qp);
    qp.path->wake_next(ca);
  }
  owe_probe(ca, qp);
}

/// Whether the answer only takes its time, because others of this side were there before.
bool is_behind_others(const QueuePair& qp, Instant now) {
  return qp.path->is_behind_others(qp.requester.awaits_since, now);
}

/// Starts timers that have run out again, for the same answer.
void wait_on(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  const Instant since = qp.requester.awaits_since;
  start_retry_timers(ca, qp, now);
  qp.requester.awaits_since = since;
}

void on_ack_timeout(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  if (is_behind_others(qp, now)) {
    stop_timers(req);
    return wait_on(ca, qp, now);
  }
  ++ca.counters.ack_timeouts;
  ++qp.counters.ack_timeouts;
  const MaybeDuration set = effective_timeout(ca, qp);
  const Duration timeout = set ? *set : Duration{};
  if (!lacks_processor(ca, req, now, timeout) && !take_retry(ca, qp, ErrorReason::kNoAnswer)) {
    return;
  }
  note_survived_timeout(ca, qp);
  req.ack_doublings = std::min(req.ack_doublings + 1, kMostAckDoublings);
  stop_timers(req);
  on_silence(ca, qp, now);
}

void on_probe_timeout(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  qp.requester.probe_deadline.reset();
  if (is_behind_others(qp, now)) return wait_on(ca, qp, now);
  ++ca.counters.loss_probes;
  if (repairs_after_silence(qp)) return repair_after_silence(ca, qp, now);
  on_silence(ca, qp, now);
}

/// An answer has come.
void end_silence(RequesterState& req) {
  if (req.silences == 0) req.lone_answers = 0;
  req.silences = 0;
  req.free_timeouts = 0;
  req.ack_doublings = 0;
}

}  // namespace

MaybeDuration ack_timeout(const ChannelAdapter& ca, const QueuePair& qp) {
  if (qp.attr.timeout == 0) return {};
  return std::max(ack_timeout_of(qp.attr.timeout), ca.config.min_ack_timeout);
}

void restore_retries(QueuePair& qp) {
  qp.requester.retries_left = qp.attr.retry_cnt;
}

void restore_rnr_retries(QueuePair& qp) {
  qp.requester.rnr_retries_left = qp.attr.rnr_retry;
}

void start_retry_timers(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  if (req.ack_deadline && req.probe_deadline) return;
  if (!req.ack_deadline && !req.probe_deadline) req.awaits_since = now;
  const MaybeDuration timeout = effective_timeout(ca, qp);
  if (timeout && !req.ack_deadline) req.ack_deadline = now + *timeout;
  if (!req.probe_deadline) start_probe_timer(qp, now, timeout);
  schedule(ca, qp);
}

void start_over(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  restore_retries(qp);
  req.probe_backoff = 0;
  req.lone_answers = 0;
  req.resending = req.probe_answered = false;  // they concern the flow that was left
  req.last_probe = RequesterState::Probe::kNone;
  end_silence(req);
  stop_timers(req);
  if (req.outstanding() != 0) go_back(ca, qp);
}

void ask_for_rest(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  req.probe_answered = false;
  req.lone_answers = 0;
  req.resending = true;
  back_off(ca, qp, now);
  go_back(ca, qp);
}

void note_progress(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  restore_retries(qp);
  restore_rnr_retries(qp);
  req.resending = false;
  req.first_ahead.reset();
  req.asked_anew = 0;
  req.rnr_until.reset();
  stop_timers(req);
  note_repaired(qp);
  if (req.silences > 0) note_answered_probe(ca, qp, now);
  end_silence(req);
  if (req.in_flight() > 0) start_retry_timers(ca, qp, now);
  if (!is_idle(ca, qp)) ca.active.push_back(qp);
  qp.path->wake_next(ca);
}

void note_sign_of_life(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  restore_retries(qp);
  end_silence(req);
  stop_timers(req);
  start_retry_timers(ca, qp, now);
  ca.active.push_back(qp);
}

void retry_after_loss(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  qp.path->note_loss(now);
  if (req.resending) return;  // this loss is being handled; the timers are running
  if (!take_retry(ca, qp, ErrorReason::kLostTooOften)) return;
  end_silence(req);
  req.rnr_until.reset();
  req.resending = true;
  req.probe_answered = false;
  req.lone_answers = 0;
  req.probe_backoff = 0;  // the silence was no slowness
  req.last_probe = RequesterState::Probe::kNone;
  back_off(ca, qp, now);
  go_back(ca, qp);
}

void retry_after_nak(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  qp.path->note_loss(now);
  if (req.resending || repair_after_nak(ca, qp, now)) return;
  retry_after_loss(ca, qp, now);
  req.went_back_for_nak = qp.state() != IBV_QPS_ERR;
}

void retry_after_rnr(ChannelAdapter& ca, QueuePair& qp, Instant now, uint8_t timer_code) {
  RequesterState& req = qp.requester;
  if (req.rnr_until) return;
  if (qp.attr.rnr_retry != kRnrRetryForEver) {
    if (req.rnr_retries_left == 0) {
      ++ca.counters.rnr_retries_exceeded;
      note_spent(qp, ErrorReason::kReceiverNotReady, qp.attr.rnr_retry, rnr_syndrome(timer_code));
      fail_oldest_send(ca, qp, IBV_WC_RNR_RETRY_EXC_ERR);
      return;
    }
    --req.rnr_retries_left;
  }
  restore_retries(qp);  // the responder is there
  end_silence(req);
  req.last_probe = RequesterState::Probe::kNone;
  req.resending = true;
  req.rnr_until = now + rnr_timer(timer_code);
  go_back(ca, qp);
  schedule(ca, qp);
}

void on_retry_timer(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  note_absence(ca, req, now);
  if (req.rnr_until && *req.rnr_until <= now) {
    req.rnr_until.reset();
    ca.active.push_back(qp);
  }
  if (req.ack_deadline && *req.ack_deadline <= now) {
    on_ack_timeout(ca, qp, now);
  } else if (req.probe_deadline && *req.probe_deadline <= now) {
    on_probe_timeout(ca, qp, now);
  }
  schedule(ca, qp);
}

}  // namespace urxe
