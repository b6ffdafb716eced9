// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/request_packet.h"

#include <algorithm>
#include <cstring>

#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/requester/requester.h"

namespace urxe {
namespace {

bool is_write(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_RDMA_WRITE || wqe.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
bool has_immediate(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_SEND_WITH_IMM || wqe.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

Operation send_operation(const SendWqe& wqe, bool first, bool last) {
  if (!last) return first ? Operation::kSendFirst : Operation::kSendMiddle;
  if (wqe.opcode == IBV_WR_SEND_WITH_IMM) {
    return first ? Operation::kSendOnlyImm : Operation::kSendLastImm;
  }
  if (wqe.opcode == IBV_WR_SEND_WITH_INV) {
    return first ? Operation::kSendOnlyInvalidate : Operation::kSendLastInvalidate;
  }
  return first ? Operation::kSendOnly : Operation::kSendLast;
}

Operation write_operation(const SendWqe& wqe, bool first, bool last) {
  if (!last) return first ? Operation::kWriteFirst : Operation::kWriteMiddle;
  if (has_immediate(wqe)) return first ? Operation::kWriteOnlyImm : Operation::kWriteLastImm;
  return first ? Operation::kWriteOnly : Operation::kWriteLast;
}

void describe_read(const QueuePair& qp, const SendWqe& wqe, uint32_t index, RequestPacket& packet) {
  const uint32_t piece = qp.read_piece;
  const uint32_t end = std::min(wqe.packets, (index / piece + 1) * piece);
  const uint64_t end_bytes = std::min<uint64_t>(wqe.length, static_cast<uint64_t>(end) * qp.mtu);
  packet.headers.bth.opcode = Opcode(qp.service, Operation::kReadRequest);
  packet.headers.reth = {wqe.remote_addr + packet.offset, wqe.rkey,
                         static_cast<uint32_t>(end_bytes - packet.offset)};
  packet.psns = end - index;
}

void describe_atomic(const QueuePair& qp, const SendWqe& wqe, RequestPacket& packet) {
  const bool swap = wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  packet.headers.bth.opcode =
      Opcode(qp.service, swap ? Operation::kCompareSwap : Operation::kFetchAdd);
  packet.headers.atomic = {wqe.remote_addr, wqe.rkey, swap ? wqe.swap : wqe.compare_add,
                           swap ? wqe.compare_add : 0};
}

void describe_flush(const QueuePair& qp, const SendWqe& wqe, RequestPacket& packet) {
  packet.headers.bth.opcode = Opcode(qp.service, Operation::kFlush);
  packet.headers.feth = wqe.flush;
  packet.headers.reth = {wqe.remote_addr, wqe.rkey, wqe.flush_length};
}

void describe_payload(const QueuePair& qp, const SendWqe& wqe, uint32_t index,
                      RequestPacket& packet) {
  const bool first = index == 0;
  const bool last = index + 1 == wqe.packets;
  Headers& headers = packet.headers;
  packet.payload = static_cast<uint32_t>(std::min<uint64_t>(qp.mtu, wqe.length - packet.offset));
  if (is_atomic_write(wqe)) {
    headers.bth.opcode = Opcode(qp.service, Operation::kAtomicWrite);
    headers.reth = {wqe.remote_addr, wqe.rkey, wqe.length};
  } else if (is_write(wqe)) {
    headers.bth.opcode = Opcode(qp.service, write_operation(wqe, first, last));
    if (first) headers.reth = {wqe.remote_addr, wqe.rkey, wqe.length};
  } else {
    headers.bth.opcode = Opcode(qp.service, send_operation(wqe, first, last));
  }
  if (!last) return;
  headers.immediate_be = wqe.immediate_be;
  headers.invalidate = wqe.invalidate;
  headers.bth.solicited = needs_receive(wqe) && (wqe.send_flags & IBV_SEND_SOLICITED) != 0;
}

/// Copies the packet's payload to `out`. False: a key of the list, or its range, is not valid.
bool fill_payload(const ChannelAdapter& ca, QueuePair& qp, uint32_t position,
                  const RequestPacket& packet, uint8_t* out) {
  if (packet.payload == 0) return true;
  const SendWqe& wqe = qp.sq.at(position);
  if (wqe.is_inline) {
    std::memcpy(out, qp.sq.inline_space(position) + packet.offset, packet.payload);
    return true;
  }
  return gather(ca.memory, qp.pd, qp.sq.sges(position), packet.offset, {out, packet.payload});
}

}  // namespace

uint32_t position_of(QueuePair& qp, Psn psn) {
  uint32_t position = qp.sq.oldest();
  while (is_local(qp.sq.at(position)) ||
         packet_index(qp.sq.at(position), psn) >= qp.sq.at(position).packets) {
    ++position;
  }
  return position;
}

bool needs_receive(const SendWqe& wqe) {
  return wqe.opcode != IBV_WR_RDMA_WRITE && !has_response(wqe);
}

uint32_t message_packets(const QueuePair& qp, const SendWqe& wqe) {
  if (is_atomic(wqe) || wqe.length == 0) return 1;
  return (wqe.length - 1) / qp.mtu + 1;
}

bool shares_datagram_with_ack(const QueuePair& qp, const SendWqe& wqe, size_t segments) {
  const uint32_t packets = has_response(wqe) ? 1 : message_packets(qp, wqe);
  if (packets == 1 && wqe.length > 0) return true;
  const Opcode ack(qp.service, Operation::kAcknowledge);
  const auto size_of = [&](uint32_t index) {
    const RequestPacket packet = request_packet_at(qp, wqe, wqe.first_psn + index);
    return packet_size(packet.headers.bth.opcode, packet.payload);
  };
  const size_t last = size_of(packets - 1);
  if (packets == 1) return last >= packet_size(ack, 0);
  if (segments == 1) return false;
  const size_t before = size_of(packets - 2);
  const bool begins_datagram = last > before || (packets == 3 && before < size_of(0));
  if (begins_datagram) return true;
  // The FIRST of a WRITE is longer than the others: it fills a datagram with the second packet.
  const uint32_t alike = size_of(0) > before ? packets - 2 : packets;
  return last == before && alike % segments != 0;
}

RequestPacket request_packet_at(const QueuePair& qp, const SendWqe& wqe, Psn psn) {
  const uint32_t index = packet_index(wqe, psn);
  RequestPacket packet;
  packet.offset = static_cast<uint64_t>(index) * qp.mtu;
  packet.headers.bth.dest_qp = qp.dest_qpn;
  packet.headers.bth.pkey = qp.pkey;
  packet.headers.bth.psn = psn;
  packet.headers.bth.mig_req = mig_req(qp);
  packet.headers.xrc_srq = wqe.remote_srqn;
  if (is_read(wqe)) {
    describe_read(qp, wqe, index, packet);
  } else if (is_atomic(wqe)) {
    describe_atomic(qp, wqe, packet);
  } else if (is_flush(wqe)) {
    describe_flush(qp, wqe, packet);
  } else {
    describe_payload(qp, wqe, index, packet);
  }
  return packet;
}

Appended append_request(const ChannelAdapter& ca, QueuePair& qp, uint32_t position,
                        const RequestPacket& packet, bool may_scatter, TxBatch& batch) {
  if (may_scatter && packet.payload >= batch.limits().elsewhere_from &&
      !qp.sq.at(position).is_inline) {
    const uint8_t* const payload =
        find_piece(ca.memory, qp.pd, qp.sq.sges(position), packet.offset, packet.payload);
    if (payload != nullptr) {
      return batch.append_whole(qp.flow(), packet.headers, {payload, packet.payload})
                 ? Appended::kYes
                 : Appended::kBatchFull;
    }
  }
  uint8_t* const out = batch.append(qp.flow(), packet.headers, packet.payload);
  if (out == nullptr) return Appended::kBatchFull;
  if (!fill_payload(ca, qp, position, packet, out)) {
    batch.abandon();
    return Appended::kRefused;
  }
  batch.commit();
  return Appended::kYes;
}

bool gather_all(const ChannelAdapter& ca, QueuePair& qp, uint32_t position, uint8_t* out) {
  const SendWqe& wqe = qp.sq.at(position);
  if (wqe.length == 0) return true;
  if (wqe.is_inline) {
    std::memcpy(out, qp.sq.inline_space(position), wqe.length);
    return true;
  }
  return gather(ca.memory, qp.pd, qp.sq.sges(position), 0, {out, wqe.length});
}

}  // namespace urxe
