// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/note_answer.h"

#include "transport/observation/note_cause.h"

namespace urxe {
namespace {

ErrorCause cause_of(const QueuePair& qp, ErrorReason reason, uint8_t syndrome) {
  ErrorCause cause;
  cause.reason = reason;
  cause.opcode = Opcode(qp.service, Operation::kAcknowledge).value;
  cause.syndrome = syndrome;
  cause.psn = qp.requester.oldest_unacked;
  return cause;
}

}  // namespace

void note_answer(QueuePair& qp, ErrorReason reason, uint8_t syndrome) {
  note_cause(qp, cause_of(qp, reason, syndrome));
}

void note_survived(const ChannelAdapter& ca, QueuePair& qp, ErrorReason reason, uint8_t syndrome) {
  if (qp.state() != IBV_QPS_ERR) note_trouble(ca, qp, cause_of(qp, reason, syndrome));
}

void note_survived_timeout(const ChannelAdapter& ca, QueuePair& qp) {
  ErrorCause cause;
  cause.reason = ErrorReason::kAckTimeout;
  cause.psn = qp.requester.oldest_unacked;
  cause.timeout = qp.attr.timeout;
  note_trouble(ca, qp, cause);
}

void note_missing_response(const ChannelAdapter& ca, QueuePair& qp) {
  if (qp.state() == IBV_QPS_ERR) return;
  ErrorCause cause;
  cause.reason = ErrorReason::kNoResponse;
  cause.psn = qp.requester.oldest_unacked;
  note_trouble(ca, qp, cause);
}

}  // namespace urxe
