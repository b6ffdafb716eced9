// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/ud_responder.h"

#include <array>

#include "packet/wire/ip/grh.h"
#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"

namespace urxe {
namespace {

bool place(ChannelAdapter& ca, const TakenReceive& receive, const PacketView& packet,
           const Flow& flow) {
  const size_t bytes = packet_size(packet.headers.bth.opcode, packet.payload.size());
  const auto grh = make_grh(flow, packet.ipv4_identification, bytes);
  return scatter(ca.memory, receive.pd, receive.list, 0, grh) &&
         scatter(ca.memory, receive.pd, receive.list, kGrhBytes, packet.payload);
}

/// The IP version as NICs report it in the place of the service level, which RoCE does not have.
/// UCX drops datagrams whose version is not its own.
uint8_t reported_sl(const Flow& flow) {
  constexpr uint8_t kIpv6 = 1;
  constexpr uint8_t kIpv4 = 2;
  return flow.source.is_ipv4() ? kIpv4 : kIpv6;
}

void drop(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, const Flow& flow,
          DropReason reason, Check check) {
  note_dropped(ca, qp, packet.headers, check);
  qp.trouble.remote = flow.source;
  qp.trouble.dest_qpn = packet.headers.deth.source_qp.value();
  ca.counters.drop(reason);
}

void complete(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, const Flow& flow) {
  const Headers& headers = packet.headers;
  ibv_wc wc{};
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = IBV_WC_RECV;
  wc.byte_len = static_cast<uint32_t>(kGrhBytes + packet.payload.size());
  wc.src_qp = headers.deth.source_qp.value();
  wc.wc_flags = IBV_WC_GRH;
  wc.sl = reported_sl(flow);
  if (headers.bth.opcode.operation() == Operation::kSendOnlyImm) {
    wc.imm_data = headers.immediate_be;
    wc.wc_flags |= IBV_WC_WITH_IMM;
  }
  ++ca.counters.receives;
  ++qp.counters.receives_completed;
  complete_taken(ca, qp, wc, headers.bth.solicited);
}

}  // namespace

void receive_ud_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                        const Flow& flow) {
  if (packet.headers.deth.qkey.value() != qp.attr.qkey) {
    return drop(ca, qp, packet, flow, DropReason::kBadQKey, Check::kQKey);
  }
  const auto room = next_receive_length(qp);
  if (!room) return drop(ca, qp, packet, flow, DropReason::kNoReceive, Check::kNone);
  if (kGrhBytes + packet.payload.size() > *room) {
    return drop(ca, qp, packet, flow, DropReason::kMalformedRequest, Check::kReceiveLength);
  }
  take_receive(ca, qp);
  if (place(ca, *qp.responder.receive, packet, flow)) return complete(ca, qp, packet, flow);
  note_failed_receive(ca, qp);
  complete_receive_in_error(ca, qp, IBV_WC_LOC_PROT_ERR);
  enter_error(ca, qp, OwedAnswers::kDrop);
}

}  // namespace urxe
