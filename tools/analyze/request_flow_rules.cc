// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "tools/analyze/packet_rules.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

enum class Family : uint8_t { kSend, kWrite, kOther };

Family family_of(Operation operation) {
  if (operation <= Operation::kSendOnlyImm) return Family::kSend;
  if (operation <= Operation::kWriteOnlyImm) return Family::kWrite;
  const bool invalidate =
      operation == Operation::kSendLastInvalidate || operation == Operation::kSendOnlyInvalidate;
  return invalidate ? Family::kSend : Family::kOther;
}

/// Whether `second` may follow `first` immediately.
bool may_follow(Opcode first, Opcode second) {
  const bool ended = opcode_info(first).ends_message;
  if (opcode_info(second).starts_message) return ended;
  return !ended && family_of(first.operation()) == family_of(second.operation());
}

std::string pair_text(Opcode first, Opcode second) {
  return fmt::format("{} after {}", opcode_info(second).name, opcode_info(first).name);
}

bool is_atomic(Operation operation) {
  return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
}

}  // namespace

void RequestFlow::check_order(const CapturedPacket& packet, LongPsn psn, int64_t span,
                              ViolationLog& log) {
  const Opcode opcode = packet.view.headers.bth.opcode;
  const PsnRecord* const before = line_.ending_before(psn);
  if (before != nullptr && !may_follow(before->opcode, opcode)) {
    log.add(make_violation(packet, Rule::kOpcodeSequence, pair_text(before->opcode, opcode)));
  }
  const PsnRecord* const behind = line_.beginning_at(psn + span);
  if (behind != nullptr && !may_follow(opcode, behind->opcode)) {
    log.add(make_violation(packet, Rule::kOpcodeSequence, pair_text(opcode, behind->opcode)));
  }
}

void RequestFlow::check_size(const CapturedPacket& packet, ViolationLog& log) {
  const OpcodeInfo& info = opcode_info(packet.view.headers.bth.opcode);
  const size_t payload = packet.view.payload.size();
  if (!info.has_payload) return;
  if (path_mtu_ == 0) {
    if (!info.ends_message && is_path_mtu(payload)) path_mtu_ = static_cast<uint32_t>(payload);
    return;
  }
  const std::string detail = fmt::format("payload {}, path MTU {}", payload, path_mtu_);
  if (!info.ends_message && payload != path_mtu_) {
    log.add(make_violation(packet, Rule::kNotPathMtu, detail));
  } else if (info.ends_message && payload > path_mtu_) {
    log.add(make_violation(packet, Rule::kLastPacketSize, detail));
  }
}

void RequestFlow::check_length(const CapturedPacket& packet, const Message& message,
                               ViolationLog& log) {
  const bool whole = message.started && message.ended && message.in_order && message.knows_length;
  if (!whole || message.kind != MessageKind::kWrite || message.bytes == message.announced) return;
  log.add(make_violation(packet, Rule::kMessageLength,
                         fmt::format("{} bytes, announced {}", message.bytes, message.announced)));
}

void RequestFlow::check_msn(const CapturedPacket& packet, LongPsn psn, ViolationLog& log) {
  const Msn msn = packet.view.headers.aeth.msn;
  if (last_msn_ && psn <= last_msn_->psn) return;
  if (last_msn_ && msn.is_before(last_msn_->msn)) {
    log.add(make_violation(packet, Rule::kMsnBackwards,
                           fmt::format("MSN {} after {}", msn.value(), last_msn_->msn.value())));
  }
  last_msn_ = LastMsn{psn, msn};
}

void RequestFlow::check_response_kind(const CapturedPacket& packet, LongPsn psn,
                                      ViolationLog& log) {
  const Opcode response = packet.view.headers.bth.opcode;
  const auto found = line_.find(psn);
  if (!found || response.operation() == Operation::kAcknowledge) return;
  const Opcode request = found->second->opcode;
  // Nothing here says what acknowledges an ATOMIC WRITE: implementations differ.
  if (request.operation() == Operation::kAtomicWrite) return;
  const bool atomic_ack = response.operation() == Operation::kAtomicAcknowledge;
  const bool right =
      atomic_ack ? is_atomic(request.operation()) : request.operation() == Operation::kReadRequest;
  if (right) return;
  log.add(make_violation(
      packet, Rule::kResponseKind,
      fmt::format("{} to {}", opcode_info(response).name, opcode_info(request).name)));
}

void RequestFlow::check_read_response(const CapturedPacket& packet, const Message& message,
                                      LongPsn psn, ViolationLog& log) {
  if (!message.exact_end || !message.knows_length || message.in_parts || path_mtu_ == 0) return;
  const Opcode opcode = packet.view.headers.bth.opcode;
  const bool at_end = psn == message.end - 1;
  if (opcode_info(opcode).ends_message != at_end) {
    log.add(make_violation(packet, Rule::kReadResponseOpcode,
                           fmt::format("{}, packet {} of {}", opcode_info(opcode).name,
                                       psn - message.first + 1, message.end - message.first)));
    return;
  }
  const auto before = static_cast<uint64_t>(psn - message.first) * path_mtu_;
  const uint64_t wanted =
      std::min<uint64_t>(path_mtu_, message.announced - std::min(message.announced, before));
  const size_t payload = packet.view.payload.size();
  if (payload != wanted) {
    log.add(make_violation(packet, Rule::kReadResponseSize,
                           fmt::format("payload {} in place of {}", payload, wanted)));
  }
}

}  // namespace urxe::analyze
