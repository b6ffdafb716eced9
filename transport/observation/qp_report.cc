// SPDX-License-Identifier: BSD-2-Clause
#include "transport/observation/qp_report.h"

#include <type_traits>

#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/requester.h"
#include "transport/requester/wait_reason.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

static_assert(std::is_trivially_copyable_v<QpReport> && sizeof(QpReport) % sizeof(uint64_t) == 0);

CqReport report_on(const CompletionQueue* cq) {
  if (cq == nullptr) return {};
  return {cq->number, cq->waiting(), cq->capacity(), cq->is_armed(), cq->in_error()};
}

template <class Queue>
QueueFill fill_of(const Queue& queue) {
  return {queue.posted() - queue.oldest(), queue.capacity()};
}

/// The element of a message that broke off is the next message's: it has not completed.
QueueFill receive_fill(QueuePair& qp) {
  if (qp.srq != nullptr) return fill_of(qp.srq->queue());
  QueueFill fill = fill_of(qp.rq);
  if (holds_receive(qp) && !qp.takes_shared_receives()) ++fill.waiting;
  return fill;
}

/// Its own requests go before those of the peer.
WaitReason reason_to_wait(const ChannelAdapter& ca, QueuePair& qp) {
  const WaitReason reason = wait_reason(ca, qp);
  return reason == WaitReason::kNothing && lacks_receive(qp) ? WaitReason::kReceive : reason;
}

void describe_path(const QueuePair& qp, QpReport& report) {
  const bool is_datagram = qp.service == Service::kUd;
  report.has_peer = !is_datagram && !qp.flow().destination.is_zero();
  report.local = qp.flow().source;
  report.source_port = qp.flow().source_port;
  if (report.has_peer) {
    report.remote = qp.flow().destination;
    report.dest_qpn = qp.dest_qpn.value();
    report.mtu = qp.mtu;
  }
  if (qp.path == nullptr) return;
  report.window = qp.path->window();
  report.window_used = qp.path->in_flight();
  report.round_trip_ns = qp.path->round_trip().ns;
}

}  // namespace

QpReport report_on(const ChannelAdapter& ca, QueuePair& qp) {
  QpReport report;
  report.qpn = qp.qpn.value();
  report.type = static_cast<uint8_t>(qp.type);
  report.state = static_cast<uint8_t>(qp.state());
  report.waits_for = reason_to_wait(ca, qp);
  report.uses_srq = qp.takes_shared_receives();
  report.is_paced = qp.pacer.is_limited();
  report.timeout = qp.attr.timeout;
  report.retry_count = qp.attr.retry_cnt;
  report.rnr_retry = qp.attr.rnr_retry;
  report.migration_state = static_cast<uint8_t>(qp.migration.state);
  describe_path(qp, report);
  report.send_queue = fill_of(qp.sq);
  report.receive_queue = receive_fill(qp);
  report.send_cq = report_on(qp.send_cq);
  report.receive_cq = report_on(qp.recv_cq);
  report.outstanding = packets_outstanding(qp);
  report.reads_owed = pending_resources(qp);
  report.next_psn = next_request_psn(qp).value();
  report.unacked_psn = oldest_unacknowledged_psn(qp).value();
  report.expected_psn = expected_psn(qp).value();
  report.domain = qp.domain == nullptr ? qp.pd.value() : 0;
  report.srq = qp.srq != nullptr ? qp.srq->number.value() : 0;
  report.counters = qp.counters;
  report.cause = qp.error_cause;
  report.last_error = qp.last_error;
  report.trouble = qp.trouble;
  return report;
}

}  // namespace urxe
