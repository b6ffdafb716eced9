// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/request_execution.h"

#include "transport/responder/receive_source.h"

namespace urxe {

bool is_send(Operation op) {
  return op <= Operation::kSendOnlyImm || op == Operation::kSendLastInvalidate ||
         op == Operation::kSendOnlyInvalidate;
}
bool is_write_request(Operation op) {
  return op >= Operation::kWriteFirst && op <= Operation::kWriteOnlyImm;
}
bool is_atomic_request(Operation op) {
  return op == Operation::kCompareSwap || op == Operation::kFetchAdd;
}
bool has_own_response(Operation op) {
  return op == Operation::kReadRequest || is_atomic_request(op) || op == Operation::kAtomicWrite ||
         op == Operation::kFlush;
}
bool with_immediate(Operation op) {
  return op == Operation::kSendLastImm || op == Operation::kSendOnlyImm ||
         op == Operation::kWriteLastImm || op == Operation::kWriteOnlyImm;
}
bool with_invalidate(Operation op) {
  return op == Operation::kSendLastInvalidate || op == Operation::kSendOnlyInvalidate;
}

void note_first_request(ChannelAdapter& ca, QueuePair& qp) {
  qp.responder.established = true;
  if (qp.state() == IBV_QPS_RTR) ca.raise(IBV_EVENT_COMM_EST, &qp);
  ca.gsi.cm().first_request_received(qp.qpn, ca.now);
}

bool payload_is_valid(const QueuePair& qp, const OpcodeInfo& info, size_t bytes) {
  if (!info.has_payload) return bytes == 0;
  if (!info.ends_message) return bytes == qp.mtu;
  return bytes <= qp.mtu && (info.starts_message || bytes > 0);
}

bool operation_is_enabled(const QueuePair& qp, Operation op) {
  const unsigned access = qp.attr.qp_access_flags;
  if (is_write_request(op) || op == Operation::kAtomicWrite) {
    return (access & IBV_ACCESS_REMOTE_WRITE) != 0;
  }
  if (op == Operation::kReadRequest) return (access & IBV_ACCESS_REMOTE_READ) != 0;
  if (is_atomic_request(op)) return (access & IBV_ACCESS_REMOTE_ATOMIC) != 0;
  return is_send(op) || op == Operation::kFlush;
}

bool begin_write(ChannelAdapter& ca, QueuePair& qp, const Reth& reth) {
  ResponderState& resp = qp.responder;
  resp.write_va = reth.va;
  resp.write_rkey = reth.rkey;
  resp.write_length = resp.write_left = reth.dma_length;
  return reth.dma_length == 0 || ca.memory.remote(resp.pd, qp.qpn, reth.rkey, reth.va,
                                                  reth.dma_length, IBV_ACCESS_REMOTE_WRITE);
}

bool continue_write(ChannelAdapter& ca, QueuePair& qp, std::span<const uint8_t> payload) {
  if (payload.empty()) return true;
  ResponderState& resp = qp.responder;
  const HostMemory host = ca.memory.remote(resp.pd, qp.qpn, resp.write_rkey, resp.write_va,
                                           payload.size(), IBV_ACCESS_REMOTE_WRITE);
  // The span was stored just now as two words. Copied as a whole, it would be loaded as one, and
  // such a load waits until all stores before it, those of the last packet too, are in the cache.
  const std::span<const uint8_t> data(payload.data(), payload.size());
  if (!host || !write_in_order(ca.memory.guarded(), host, data)) return false;
  resp.write_va += payload.size();
  resp.write_left -= static_cast<uint32_t>(payload.size());
  return true;
}

void complete_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint32_t bytes) {
  const Operation op = headers.bth.opcode.operation();
  ibv_wc wc{};
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = is_send(op) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  wc.byte_len = bytes;
  wc.src_qp = qp.dest_qpn.value();
  if (with_immediate(op)) {
    wc.imm_data = headers.immediate_be;
    wc.wc_flags = IBV_WC_WITH_IMM;
  } else if (with_invalidate(op)) {
    wc.invalidated_rkey = headers.invalidate.value();
    wc.wc_flags = IBV_WC_WITH_INV;
  }
  ++ca.counters.receives;
  ++qp.counters.receives_completed;
  complete_taken(ca, qp, wc, headers.bth.solicited);
}

}  // namespace urxe
