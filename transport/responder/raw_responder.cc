// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/raw_responder.h"

#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"

namespace urxe {

void receive_frame(ChannelAdapter& ca, QueuePair& qp, const RxFrame& frame,
                   bool checksums_are_right) {
  if (!take_receive(ca, qp)) return ca.counters.drop(DropReason::kNoReceive);
  const TakenReceive& receive = *qp.responder.receive;
  if (frame.bytes.size() > receive.length) {
    return complete_receive_in_error(ca, qp, IBV_WC_LOC_LEN_ERR);
  }
  if (!scatter(ca.memory, receive.pd, receive.list, 0, frame.bytes)) {
    note_failed_receive(ca, qp);
    complete_receive_in_error(ca, qp, IBV_WC_LOC_PROT_ERR);
    return enter_error(ca, qp, OwedAnswers::kDrop);
  }
  ibv_wc wc{};
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = IBV_WC_RECV;
  wc.byte_len = static_cast<uint32_t>(frame.bytes.size());
  if (checksums_are_right) wc.wc_flags = IBV_WC_IP_CSUM_OK;
  ++ca.counters.frames_received;
  qp.counters.count_received(frame.bytes.size());
  ++qp.counters.receives_completed;
  complete_taken(ca, qp, wc, false);
}

}  // namespace urxe
