// SPDX-License-Identifier: BSD-2-Clause
// The part of Batch that compares completions with the plans.
#include <arpa/inet.h>

#include "batch.h"
#include "failure.h"

namespace rc_verify {
namespace {

constexpr int kPeerEndsMs = 2000;

ibv_wc_opcode completion_opcode(Operation operation) {
  switch (operation) {
    case Operation::kSend:
    case Operation::kSendImm:
      return IBV_WC_SEND;
    case Operation::kWrite:
    case Operation::kWriteImm:
      return IBV_WC_RDMA_WRITE;
    case Operation::kRead:
      return IBV_WC_RDMA_READ;
    case Operation::kCompareSwap:
      return IBV_WC_COMP_SWAP;
    case Operation::kFetchAdd:
      return IBV_WC_FETCH_ADD;
  }
  return IBV_WC_SEND;
}

template <typename T>
void expect_equal(const std::string& where, const char* field, T want, T have) {
  if (want == have) return;
  mismatch(format("%s: %s: expected 0x%llx, found 0x%llx", where.c_str(), field,
                  static_cast<unsigned long long>(want), static_cast<unsigned long long>(have)));
}

constexpr unsigned kCheckedFlags = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;

}  // namespace

void Batch::handle(const ibv_wc& completion, bool receive) {
  for (uint32_t i = 0; i < flows_.size(); ++i) {
    if (endpoint_.queue_pair(i).qp->qp_num != completion.qp_num) continue;
    if (receive) {
      check_receive(completion, *flows_[i], i);
    } else {
      check_send(completion, *flows_[i], i);
    }
    return;
  }
  mismatch(
      format("%s: a completion of an unknown QP number 0x%x", name_.c_str(), completion.qp_num));
}

void Batch::check_status(const ibv_wc& completion, const std::string& where) const {
  if (completion.status == IBV_WC_SUCCESS) return;
  const std::string status = where + ": " + ibv_wc_status_str(completion.status);
  const bool unanswered =
      completion.status == IBV_WC_RETRY_EXC_ERR || completion.status == IBV_WC_WR_FLUSH_ERR;
  if (unanswered && control_.peer_gone(kPeerEndsMs)) peer_lost(status);
  mismatch(status);
}

void Batch::check_send(const ibv_wc& completion, Flow& flow, uint32_t index) const {
  const std::string queue = format("%s: QP %u, send completion", name_.c_str(), index);
  check_status(completion, format("%s of message %llu", queue.c_str(),
                                  static_cast<unsigned long long>(completion.wr_id)));
  if (flow.expected_sends.empty()) mismatch(queue + ": none is due");
  const uint32_t due = flow.expected_sends.front();
  flow.expected_sends.pop_front();
  expect_equal<uint64_t>(queue, "wr_id", due, completion.wr_id);
  const Message& message = flow.outgoing.messages[due];
  const std::string where =
      format("%s of message %u (%s, %llu bytes)", queue.c_str(), due, name_of(message.operation),
             static_cast<unsigned long long>(message.length));
  expect_equal(where, "opcode", completion_opcode(message.operation), completion.opcode);
  // wc_flags and byte_len are defined for what came in only.
  if (message.operation == Operation::kRead || is_atomic(message.operation))
    expect_equal<uint64_t>(where, "byte_len", message.length, completion.byte_len);
}

void Batch::check_receive(const ibv_wc& completion, Flow& flow, uint32_t index) const {
  const std::string queue = format("%s: QP %u, receive completion", name_.c_str(), index);
  check_status(completion, format("%s of message %llu", queue.c_str(),
                                  static_cast<unsigned long long>(completion.wr_id)));
  if (flow.expected_receives.empty()) mismatch(queue + ": none is due");
  const uint32_t due = flow.expected_receives.front();
  flow.expected_receives.pop_front();
  expect_equal<uint64_t>(queue, "wr_id", due, completion.wr_id);
  const Message& message = flow.incoming.messages[due];
  const std::string where =
      format("%s of message %u (%s, %llu bytes)", queue.c_str(), due, name_of(message.operation),
             static_cast<unsigned long long>(message.length));
  const ibv_wc_opcode opcode = is_send(message.operation) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
  expect_equal(where, "opcode", opcode, completion.opcode);
  expect_equal<uint64_t>(where, "byte_len", message.length, completion.byte_len);
  const bool immediate = has_immediate(message.operation);
  expect_equal<unsigned>(where, "wc_flags", immediate ? IBV_WC_WITH_IMM : 0,
                         completion.wc_flags & kCheckedFlags);
  if (immediate)
    expect_equal<uint32_t>(where, "imm_data", message.immediate, ntohl(completion.imm_data));
}

}  // namespace rc_verify
