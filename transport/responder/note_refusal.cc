// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/note_refusal.h"

#include "transport/observation/note_cause.h"

namespace urxe {
namespace {

/// Names the protection domain with which the key was compared: `is_of_queue`, that of the shared
/// receive queue.
Check with_domain(Check check, bool is_of_queue) {
  return check == Check::kOtherDomain && is_of_queue ? Check::kOtherDomainOfQueue : check;
}

/// Whether the keys in requests are of the shared receive queue's domain, as for a target of XRC.
bool has_keys_of_queue(const QueuePair& qp) {
  return qp.domain != nullptr && qp.responder.srq != nullptr;
}

}  // namespace

void note_failed_receive(const ChannelAdapter& ca, QueuePair& qp) {
  ErrorCause cause;
  cause.reason = ErrorReason::kLocalReceive;
  cause.status = IBV_WC_LOC_PROT_ERR;
  cause.psn = qp.responder.expected_psn;
  cause.wr_id = qp.responder.receive->wr_id;
  explain_list(ca, qp.responder.receive->pd, qp.responder.receive->list, true, cause);
  cause.check = with_domain(cause.check, qp.responder.srq != nullptr);
  note_cause(qp, cause);
}

void note_failed_invalidate(QueuePair& qp, RKey key) {
  ErrorCause cause;
  cause.reason = ErrorReason::kInvalidate;
  cause.status = IBV_WC_MW_BIND_ERR;
  cause.psn = qp.responder.expected_psn;
  cause.wr_id = qp.responder.receive->wr_id;
  cause.key = key.value();
  note_cause(qp, cause);
}

void note_refused_receive(QueuePair& qp, ibv_wc_status status) {
  ErrorCause& cause = qp.error_cause;
  if (cause.status != 0) return;
  cause.status = static_cast<uint8_t>(status);
  cause.wr_id = qp.responder.receive->wr_id;
}

void note_refusal(QueuePair& qp, const Headers& headers, NakCode code, Check check) {
  ErrorCause cause;
  cause.reason = ErrorReason::kRefusedRequest;
  cause.check = check;
  cause.opcode = headers.bth.opcode.value;
  cause.syndrome = nak_syndrome(code);
  cause.psn = qp.responder.expected_psn;
  note_cause(qp, cause);
}

void note_refused_access(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                         const RemoteRange& range, int access) {
  if (has_cause(qp)) return;
  const Check failed =
      ca.memory.remote(qp.responder.pd, qp.qpn, range.rkey, range.va, range.length, access).failed;
  note_refusal(qp, headers, NakCode::kRemoteAccessError,
               with_domain(failed, has_keys_of_queue(qp)));
  qp.error_cause.key = range.rkey.value();
  qp.error_cause.address = range.va;
  qp.error_cause.length = range.length;
}

void note_no_receive(const ChannelAdapter& ca, QueuePair& qp, uint8_t syndrome) {
  ErrorCause cause;
  cause.reason = ErrorReason::kNoReceive;
  cause.syndrome = syndrome;
  cause.psn = qp.responder.expected_psn;
  note_trouble(ca, qp, cause);
}

void note_gap(const ChannelAdapter& ca, QueuePair& qp) {
  ErrorCause cause;
  cause.reason = ErrorReason::kGap;
  cause.psn = qp.responder.expected_psn;
  note_trouble(ca, qp, cause);
}

void note_dropped(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check) {
  ErrorCause cause;
  cause.reason = check == Check::kNone ? ErrorReason::kNoReceive : ErrorReason::kDropped;
  cause.check = check;
  cause.opcode = headers.bth.opcode.value;
  cause.psn = headers.bth.psn;
  note_trouble(ca, qp, cause);
}

void note_dropped_write(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                        const RemoteRange& range) {
  const HostMemory memory = ca.memory.remote(qp.responder.pd, qp.qpn, range.rkey, range.va,
                                             range.length, IBV_ACCESS_REMOTE_WRITE);
  note_dropped(ca, qp, headers, memory ? Check::kNotMapped : memory.failed);
  qp.trouble.key = range.rkey.value();
  qp.trouble.address = range.va;
  qp.trouble.length = range.length;
}

}  // namespace urxe
