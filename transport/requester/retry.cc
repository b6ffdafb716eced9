// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/retry.h"

#include <algorithm>

#include "packet/wire/aeth_syndrome.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/requester.h"

namespace urxe {
namespace {

constexpr int64_t kAckTimeoutUnitNs = 4096;
constexpr uint8_t kRnrRetryForEver = 7;
constexpr uint32_t kMaxProbeBackoff = 10;

void schedule(ChannelAdapter& ca, QueuePair& qp) {
  const RequesterState& req = qp.requester;
  for (const auto& deadline : {req.rnr_until, req.ack_deadline, req.probe_deadline}) {
    if (deadline) ca.timers.schedule(qp, *deadline);
  }
}

void start_probe_timer(QueuePair& qp, Instant now, Duration timeout) {
  RequesterState& req = qp.requester;
  const Duration probe = qp.path->probe_timeout() * (int64_t{1} << req.probe_backoff);
  // A probe is of no use if the ACK timeout comes first.
  if (probe < timeout) req.probe_deadline = now + probe;
}

void stop_timers(RequesterState& req) {
  req.ack_deadline.reset();
  req.probe_deadline.reset();
}

void back_off(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  if (qp.path->on_loss(now)) ++ca.counters.congestion_backoffs;
}

/// Spends one retry. False: none was left, and the queue pair has migrated to its alternate path or
/// is in ERR.
bool take_retry(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.requester.retries_left > 0) {
    --qp.requester.retries_left;
    return true;
  }
  if (migrate_if_armed(ca, qp)) return false;
  ++ca.counters.retries_exceeded;
  fail_oldest_send(ca, qp, IBV_WC_RETRY_EXC_ERR);
  return false;
}

void on_ack_timeout(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  ++ca.counters.ack_timeouts;
  if (!take_retry(ca, qp)) return;
  stop_timers(qp.requester);
  qp.requester.probing = qp.requester.resending = true;
  back_off(ca, qp, now);
  go_back(ca, qp);
}

/// If the last packet was lost, no NAK comes. Long before the ACK timeout, which is chosen for the
/// worst network, one packet is sent as a probe; its answer tells where to continue. A probe costs
/// no retry.
void on_probe_timeout(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  ++ca.counters.loss_probes;
  req.probe_deadline.reset();
  req.probe_backoff = std::min(req.probe_backoff + 1, kMaxProbeBackoff);
  req.probing = req.resending = true;
  back_off(ca, qp, now);
  go_back(ca, qp);
}

}  // namespace

std::optional<Duration> ack_timeout(const ChannelAdapter& ca, const QueuePair& qp) {
  if (qp.attr.timeout == 0) return std::nullopt;
  const Duration timeout{kAckTimeoutUnitNs << qp.attr.timeout};
  return std::max(timeout, ca.config.min_ack_timeout);
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
  const auto timeout = ack_timeout(ca, qp);
  if (!timeout) return;
  if (!req.ack_deadline) req.ack_deadline = now + *timeout;
  if (!req.probe_deadline) start_probe_timer(qp, now, *timeout);
  schedule(ca, qp);
}

void start_over(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  restore_retries(qp);
  req.probe_backoff = 0;
  req.probing = req.resending = false;  // they concern the flow that was left
  stop_timers(req);
  if (req.outstanding() != 0) go_back(ca, qp);
}

void note_progress(ChannelAdapter& ca, QueuePair& qp, Instant now, uint32_t acknowledged) {
  RequesterState& req = qp.requester;
  restore_retries(qp);
  restore_rnr_retries(qp);
  req.probe_backoff = 0;
  req.probing = req.resending = false;
  req.rnr_until.reset();
  qp.path->on_acknowledged(acknowledged);
  stop_timers(req);
  if (req.in_flight() > 0) start_retry_timers(ca, qp, now);
  ca.active.push_back(qp);
  wake_waiting(ca, *qp.path);
}

void retry_after_loss(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  if (req.resending) return;  // this loss is being handled; the timers are running
  if (!take_retry(ca, qp)) return;
  stop_timers(req);
  req.rnr_until.reset();
  req.resending = true;
  back_off(ca, qp, now);
  go_back(ca, qp);
}

void retry_after_rnr(ChannelAdapter& ca, QueuePair& qp, Instant now, uint8_t timer_code) {
  RequesterState& req = qp.requester;
  if (req.rnr_until) return;
  if (qp.attr.rnr_retry != kRnrRetryForEver) {
    if (req.rnr_retries_left == 0) {
      ++ca.counters.rnr_retries_exceeded;
      fail_oldest_send(ca, qp, IBV_WC_RNR_RETRY_EXC_ERR);
      return;
    }
    --req.rnr_retries_left;
  }
  stop_timers(req);
  restore_retries(qp);  // the responder is there
  req.resending = true;
  req.rnr_until = now + rnr_timer(timer_code);
  go_back(ca, qp);
  schedule(ca, qp);
}

void on_retry_timer(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
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
