// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/queue_pair_record.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "packet/wire/ip/grh.h"
#include "tests/interop/replay/local_buffers.h"
#include "tests/interop/replay/operation.h"

namespace urxe::replay {
namespace {

void drain(CompletionQueue& cq, std::vector<ibv_wc>& into) {
  ibv_wc wc{};
  while (cq.poll(1, &wc) == 1) into.push_back(wc);
}

ibv_wc_status status_of(const Message& message) {
  switch (message.outcome) {
    case Outcome::kRnrExceeded:
      return IBV_WC_RNR_RETRY_EXC_ERR;
    case Outcome::kUnanswered:
      return IBV_WC_RETRY_EXC_ERR;
    case Outcome::kDone:
      return IBV_WC_SUCCESS;
    default:
      break;
  }
  switch (message.nak) {
    case NakCode::kInvalidRequest:
      return IBV_WC_REM_INV_REQ_ERR;
    case NakCode::kRemoteAccessError:
      return IBV_WC_REM_ACCESS_ERR;
    default:
      return IBV_WC_REM_OP_ERR;
  }
}

ibv_wc_opcode send_opcode_of(Operation operation) {
  if (operation == Operation::kReadRequest) return IBV_WC_RDMA_READ;
  if (operation == Operation::kFetchAdd) return IBV_WC_FETCH_ADD;
  if (operation == Operation::kCompareSwap) return IBV_WC_COMP_SWAP;
  return is_write(operation) ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
}

/// One record's findings, named after their request.
class RequestCheck {
 public:
  RequestCheck(const QueuePairRecord& record, const PostedRequest& posted, const ibv_wc& wc,
               Ledger& ledger)
      : record_(record), posted_(posted), message_(*posted.message), wc_(wc), ledger_(ledger) {}

  void check_send() {
    const ibv_wc_status status = status_of(message_);
    expect(wc_.status == status, "send completion's status " + std::to_string(wc_.status) +
                                     " is not " + std::to_string(status));
    if (status != IBV_WC_SUCCESS) return;
    expect(wc_.opcode == send_opcode_of(message_.operation()), "opcode of the send completion");
    if (message_.operation() == Operation::kReadRequest) check_read();
    if (is_atomic(message_.operation())) check_atomic();
  }

  void check_receive() {
    const bool send = is_send(message_.operation());
    if (message_.outcome != Outcome::kDone) {
      return expect(wc_.status == IBV_WC_LOC_LEN_ERR, "status of a receive that is too short");
    }
    expect(wc_.status == IBV_WC_SUCCESS, "status of the receive");
    expect(wc_.opcode == (send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM), "receive's opcode");
    check_flags();
    const size_t before = record_.plan.service == Service::kUd ? kGrhBytes : 0;
    expect(wc_.byte_len == message_.payload.size() + before, "receive's byte_len");
    const auto buffer = bytes_of(posted_.list);
    if (before != 0) check_grh(buffer.first(kGrhBytes));
    if (!send || buffer.size() < before + message_.payload.size()) return;
    expect(std::ranges::equal(buffer.subspan(before, message_.payload.size()), message_.payload),
           "received bytes");
  }

 private:
  void expect(bool agrees, const std::string& what) {
    if (!agrees) ledger_.error(what + ": " + describe(*message_.parts.front()));
  }

  void check_read() {
    const Conversation& conversation = posted_.talk->conversation;
    const auto buffer = bytes_of(posted_.list);
    size_t at = 0;
    for (uint32_t i = 0; i < message_.packets; ++i) {
      const auto data = find_read_data(conversation, message_.first + i);
      if (!data) return expect(false, "no READ response was recorded");
      expect(std::ranges::equal(buffer.subspan(at, data->size()), *data), "READ's bytes");
      at += data->size();
    }
    expect(at == buffer.size(), "READ's length");
  }

  void check_atomic() {
    uint64_t value = 0;
    std::memcpy(&value, bytes_of(posted_.list).data(), sizeof value);
    expect(find_original(posted_.talk->conversation, message_.first) == value, "atomic's result");
  }

  void check_flags() {
    const Operation operation = message_.operation();
    const Headers& last = message_.last_headers();
    const bool immediate = (wc_.wc_flags & IBV_WC_WITH_IMM) != 0;
    const bool invalidate = (wc_.wc_flags & IBV_WC_WITH_INV) != 0;
    expect(immediate == has_immediate(operation), "receive's immediate flag");
    expect(invalidate == has_invalidate(operation), "receive's invalidate flag");
    if (immediate) expect(wc_.imm_data == last.immediate_be, "immediate data");
    if (record_.plan.service != Service::kUd) return;
    expect((wc_.wc_flags & IBV_WC_GRH) != 0, "GRH flag");
    expect(wc_.src_qp == last.deth.source_qp.value(), "source queue pair");
  }

  void check_grh(std::span<const uint8_t> grh) {
    const RxPacket& packet = message_.parts.front()->packet;
    const auto header = packet.flow.source.is_ipv4() ? grh.last(20) : grh;
    expect(std::ranges::equal(header, message_.parts.front()->ip_header), "GRH");
    const auto before = grh.first(grh.size() - header.size());
    expect(std::ranges::all_of(before, [](uint8_t byte) { return byte == 0; }), "before the GRH");
  }

  const QueuePairRecord& record_;
  const PostedRequest& posted_;
  const Message& message_;
  const ibv_wc& wc_;
  Ledger& ledger_;
};

}  // namespace

void QueuePairRecord::poll() {
  drain(*queues.sends, send_completions);
  drain(*queues.receives, receive_completions);
}

void check_sends(const QueuePairRecord& record, Ledger& ledger) {
  const auto& wcs = record.send_completions;
  if (wcs.size() != record.sends.size()) {
    ledger.error(std::to_string(wcs.size()) + " send completions for " +
                 std::to_string(record.sends.size()) + " requests");
  }
  for (size_t i = 0; i < std::min(wcs.size(), record.sends.size()); ++i) {
    if (wcs[i].wr_id != i) return ledger.error("send completions are out of order");
    RequestCheck(record, record.sends[i], wcs[i], ledger).check_send();
  }
}

void check_receives(const QueuePairRecord& record, Ledger& ledger) {
  const auto& wcs = record.receive_completions;
  if (wcs.size() != record.receives.size()) {
    ledger.error(std::to_string(wcs.size()) + " receive completions for " +
                 std::to_string(record.receives.size()) + " messages");
  }
  for (size_t i = 0; i < std::min(wcs.size(), record.receives.size()); ++i) {
    if (wcs[i].wr_id != i) return ledger.error("receive completions are out of order");
    RequestCheck(record, record.receives[i], wcs[i], ledger).check_receive();
  }
}

}  // namespace urxe::replay
