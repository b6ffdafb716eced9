// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>

#include "packet/wire/aeth_syndrome.h"
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

/// Nothing here says what acknowledges an ATOMIC WRITE: implementations differ.
bool may_answer(Operation response, Operation request) {
  if (request == Operation::kFlush && response == Operation::kReadResponseOnly) return true;
  if (response == Operation::kAcknowledge || request == Operation::kAtomicWrite) return true;
  if (response == Operation::kAtomicAcknowledge) return is_atomic(request);
  return request == Operation::kReadRequest;
}

}  // namespace

/// What a response has in common with its request: the PSN, the kind, and the size, if a READ has
/// one response.
RequestFlow::Fit RequestFlow::fit(const CapturedPacket& response) {
  if (counts_.packets == 0) return Fit::kNone;
  const Bth& bth = response.view.headers.bth;
  const LongPsn psn = lengthen(bth.psn);
  const auto found = line_.find(psn);
  if (!found && line_.hole_at(psn) != nullptr) return Fit::kGood;
  if (!found) {
    const LongPsn least = std::max(first_ - kBeforeFirst, expected_ - kJump);
    return psn >= least && psn < expected_most_ + kBeforeFirst ? Fit::kPossible : Fit::kNone;
  }
  const Operation request = found->second->opcode.operation();
  const Operation operation = bth.opcode.operation();
  if (!may_answer(operation, request)) return Fit::kNone;
  if (operation == Operation::kAcknowledge) {
    const bool is_ack = has_kept(response, Ext::kAeth) &&
                        ack_kind(response.view.headers.aeth.syndrome) == AckKind::kAck;
    const bool own_answer =
        request == Operation::kReadRequest || is_atomic(request) || request == Operation::kFlush;
    return is_ack && own_answer ? Fit::kNone : Fit::kGood;
  }
  const Message* const message = messages_.find(psn);
  const bool whole = operation == Operation::kReadResponseOnly && message != nullptr &&
                     psn == message->first && message->knows_length && !message->in_parts;
  if (!whole) return Fit::kGood;
  // Of a FLUSH and an ATOMIC WRITE the RETH names bytes, but the response has none.
  const uint64_t bytes = message->kind == MessageKind::kRead ? message->announced : 0;
  return bytes == response.view.payload.size() ? Fit::kGood : Fit::kNone;
}

void RequestFlow::check_order(const CapturedPacket& packet, LongPsn psn, int64_t span,
                              ViolationLog& log) {
  const Opcode opcode = packet.view.headers.bth.opcode;
  const PsnRecord* const before = line_.ending_before(psn);
  if (before != nullptr && !before->open_end && !may_follow(before->opcode, opcode)) {
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
  const bool backwards = last_msn_ && msn.is_before(last_msn_->msn);
  if (backwards && peer_is_certain_ && !may_count_anew(psn, msn)) {
    log.add(make_violation(packet, Rule::kMsnBackwards,
                           fmt::format("MSN {} after {}", msn.value(), last_msn_->msn.value())));
  }
  last_msn_ = LastMsn{psn, msn};
}

/// Behind packets that were not seen the queue pair may have been reset, and have begun a little
/// further on. Its MSN counts from 0 again, so it is no more than the number of packets since.
bool RequestFlow::may_count_anew(LongPsn psn, Msn msn) const {
  const auto unseen_until = line_.end_of_hole_below(psn);
  return unseen_until && *unseen_until > last_msn_->psn && msn.value() <= psn - *unseen_until + 1;
}

void RequestFlow::check_response_kind(const CapturedPacket& packet, LongPsn psn,
                                      ViolationLog& log) {
  const Opcode response = packet.view.headers.bth.opcode;
  const auto found = line_.find(psn);
  if (!found || !peer_is_certain_) return;
  const Opcode request = found->second->opcode;
  if (may_answer(response.operation(), request.operation())) return;
  log.add(make_violation(
      packet, Rule::kResponseKind,
      fmt::format("{} to {}", opcode_info(response).name, opcode_info(request).name)));
}

void RequestFlow::check_read_response(const CapturedPacket& packet, const Message& message,
                                      LongPsn psn, ViolationLog& log) {
  if (!peer_is_certain_ || !message.exact_end || !message.knows_length || message.in_parts ||
      path_mtu_ == 0)
    return;
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
