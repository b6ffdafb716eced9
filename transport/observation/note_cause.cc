// SPDX-License-Identifier: BSD-2-Clause
#include "transport/observation/note_cause.h"

#include "transport/requester/requester.h"

namespace urxe {
namespace {

ErrorReason reason_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
      return ErrorReason::kNoAnswer;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return ErrorReason::kReceiverNotReady;
    case IBV_WC_BAD_RESP_ERR:
      return ErrorReason::kBadResponse;
    default:
      return ErrorReason::kLocalSend;
  }
}

bool writes_memory(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

void explain_list(const ChannelAdapter& ca, PdId pd, std::span<const Sge> list, bool write,
                  ErrorCause& cause) {
  for (const Sge& sge : list) {
    cause.check = ca.memory.local(pd, sge, write).failed;
    if (cause.check == Check::kNone) continue;
    cause.key = sge.lkey.value();
    cause.address = sge.addr;
    cause.length = sge.length;
    return;
  }
}

void note_cause(QueuePair& qp, const ErrorCause& cause) {
  if (!has_cause(qp)) qp.error_cause = cause;
}

void note_circumstances(ChannelAdapter& ca, QueuePair& qp) {
  ErrorCause& cause = qp.error_cause;
  if (cause.at.ns != 0) return;
  cause.at = ca.now;
  if (is_failure(cause)) cause.number = ++ca.counters.failures;
  cause.timeout = qp.attr.timeout;
  if (qp.service == Service::kUd) return;
  cause.remote = qp.flow().destination;
  cause.dest_qpn = cause.remote.is_zero() ? 0 : qp.dest_qpn.value();
}

void note_trouble(const ChannelAdapter& ca, QueuePair& qp, const ErrorCause& cause) {
  qp.trouble = cause;
  qp.trouble.at = ca.now;
}

void note_recovery(QueuePair& qp) {
  if (is_failure(qp.error_cause)) qp.last_error = qp.error_cause;
  qp.error_cause = {};
}

void note_failed_send(const ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status) {
  ErrorCause& cause = qp.error_cause;
  if (cause.status != 0) return;
  const uint32_t position = qp.sq.oldest();
  const SendWqe& wqe = qp.sq.at(position);
  if (!has_cause(qp)) {
    cause.reason = reason_of(status);
    cause.psn = oldest_unacknowledged_psn(qp);
  }
  cause.status = static_cast<uint8_t>(status);
  cause.work_request = static_cast<uint8_t>(wqe.opcode);
  cause.wr_id = wqe.wr_id;
  if (status == IBV_WC_LOC_PROT_ERR && !wqe.is_inline) {
    explain_list(ca, qp.pd, qp.sq.sges(position), writes_memory(wqe.opcode), cause);
  }
}

}  // namespace urxe
