// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/work_request.h"

#include <algorithm>
#include <iterator>

#include "tests/interop/replay/operation.h"

namespace urxe::replay {
namespace {

ibv_wr_opcode opcode_of(Operation operation) {
  if (operation == Operation::kReadRequest) return IBV_WR_RDMA_READ;
  if (operation == Operation::kFetchAdd) return IBV_WR_ATOMIC_FETCH_AND_ADD;
  if (operation == Operation::kCompareSwap) return IBV_WR_ATOMIC_CMP_AND_SWP;
  if (has_invalidate(operation)) return IBV_WR_SEND_WITH_INV;
  if (is_write(operation)) {
    return has_immediate(operation) ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
  }
  return has_immediate(operation) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
}

/// As an address handle with the recorded destination, hop limit and traffic class resolves.
Datagram datagram_of(Device& device, const Frame& frame) {
  const Flow& recorded = frame.packet.flow;
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  std::ranges::copy(recorded.destination.bytes, std::begin(address.grh.dgid.raw));
  address.grh.hop_limit = recorded.hop_limit;
  address.grh.traffic_class = recorded.traffic_class;
  return {device.resolve(address).value(), frame.headers().bth.dest_qp, frame.headers().deth.qkey};
}

}  // namespace

size_t buffer_bytes(const Message& message) {
  if (is_atomic(message.operation())) return sizeof(uint64_t);
  if (message.operation() == Operation::kReadRequest) return message.headers().reth.dma_length;
  return message.payload.size();
}

sim::SendRequest work_request_of(Device& device, const Conversation& conversation,
                                 const Message& message) {
  const Headers& headers = message.headers();
  const Headers& last = message.last_headers();
  sim::SendRequest request;
  request.opcode = opcode_of(message.operation());
  request.flags = last.bth.solicited ? IBV_SEND_SOLICITED : 0;
  request.immediate_be = last.immediate_be;
  request.invalidate = last.invalidate;
  request.remote_addr = headers.reth.va;
  request.rkey = headers.reth.rkey;
  if (is_atomic(message.operation())) {
    const bool swaps = message.operation() == Operation::kCompareSwap;
    request.remote_addr = headers.atomic.va;
    request.rkey = headers.atomic.rkey;
    request.swap = headers.atomic.swap_or_add;
    request.compare_add = swaps ? headers.atomic.compare : headers.atomic.swap_or_add;
  }
  if (conversation.service == Service::kUd) {
    request.datagram = datagram_of(device, *message.parts.front());
  }
  return request;
}

}  // namespace urxe::replay
