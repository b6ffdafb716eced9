// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/refusal.h"

#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/responder.h"
#include "transport/responder/responder_resources.h"

namespace urxe {

Verdict refuse_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                       ibv_wc_status status, NakCode code) {
  const Psn psn = qp.responder.expected_psn;
  if (status == IBV_WC_LOC_PROT_ERR) note_failed_receive(ca, qp);
  note_refusal(qp, headers, code, Check::kReceiveLength);
  note_refused_receive(qp, status);
  complete_receive_in_error(ca, qp, status);
  refuse(ca, qp, psn, code, RequestFault::kInReceive);
  return Verdict::kAnswered;
}

Verdict refuse_operation(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check) {
  note_refusal(qp, headers, NakCode::kInvalidRequest, check);
  refuse(ca, qp, qp.responder.expected_psn, NakCode::kInvalidRequest, RequestFault::kOperation);
  return Verdict::kAnswered;
}

void refuse_reserved_opcode(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  const bool is_expected = headers.bth.psn == qp.responder.expected_psn;
  if (!is_expected || qp.responder.held_send) return;
  refuse_operation(ca, qp, headers, Check::kReservedOpcode);
}

Verdict refuse_request(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check) {
  note_refusal(qp, headers, NakCode::kInvalidRequest, check);
  refuse(ca, qp, qp.responder.expected_psn, NakCode::kInvalidRequest, RequestFault::kAccess);
  return Verdict::kAnswered;
}

Verdict refuse_access(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                      const RemoteRange& range, int access) {
  note_refused_access(ca, qp, headers, range, access);
  refuse(ca, qp, qp.responder.expected_psn, NakCode::kRemoteAccessError, RequestFault::kAccess);
  return Verdict::kAnswered;
}

Verdict refuse_write_key(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                         uint64_t bytes) {
  const ResponderState& resp = qp.responder;
  const RemoteRange range{resp.write_rkey, resp.write_va, bytes};
  note_refused_access(ca, qp, headers, range, IBV_ACCESS_REMOTE_WRITE);
  if (holds_receive(qp)) {
    return refuse_receive(ca, qp, headers, IBV_WC_LOC_ACCESS_ERR, NakCode::kRemoteAccessError);
  }
  return refuse_access(ca, qp, headers, range, IBV_ACCESS_REMOTE_WRITE);
}

Verdict refuse_atomic(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                      const RemoteRange& range, const AtomicFault& fault) {
  if (fault.code == NakCode::kRemoteAccessError) {
    return refuse_access(ca, qp, headers, range, fault.access);
  }
  const bool too_long = range.length != sizeof(uint64_t);
  const Check check = too_long ? Check::kMessageLength
                      : range.va % sizeof(uint64_t) == 0 && !has_room_for_resource(qp.responder)
                          ? Check::kTooManyReads
                          : Check::kAlignment;
  return refuse_request(ca, qp, headers, check);
}

}  // namespace urxe
