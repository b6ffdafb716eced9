// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "packet/wire/aeth_syndrome.h"
#include "tools/analyze/packet_rules.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {

void RequestFlow::on_response(const CapturedPacket& packet, ViolationLog& log) {
  const Headers& headers = packet.view.headers;
  const Operation operation = headers.bth.opcode.operation();
  learn_mtu(packet);
  const LongPsn psn = lengthen(headers.bth.psn);
  if (counts_.packets == 0 || psn < expected_ - kJump || psn > expected_most_ + kJump) {
    ++counts_.stray_responses;
    return;
  }
  note_time(packet);
  restart_timer(packet.time_ns);
  trace_.response(packet.time_ns, psn);
  counts_.last_ns = packet.time_ns;
  if (has_kept(packet, Ext::kAeth)) check_msn(packet, psn, log);
  check_response_kind(packet, psn, log);
  // A NAK may name the PSN that is missing, which is the next one.
  const bool negative =
      operation == Operation::kAcknowledge && ack_kind(headers.aeth.syndrome) != AckKind::kAck;
  if (psn >= expected_most_ && !negative) ++counts_.early_responses;
  if (operation == Operation::kAcknowledge) {
    on_ack(packet, psn);
  } else if (operation == Operation::kAtomicAcknowledge) {
    on_atomic_ack(packet, psn);
  } else {
    on_read_response(packet, psn, log);
  }
  corrupted_responses_.forget(headers.bth.psn);
  last_response_ns_ = packet.time_ns;
}

/// Also ends a READ whose length in packets was not known.
void RequestFlow::learn_mtu(const CapturedPacket& packet) {
  const Operation operation = packet.view.headers.bth.opcode.operation();
  const bool full =
      operation == Operation::kReadResponseFirst || operation == Operation::kReadResponseMiddle;
  if (!full || path_mtu_ != 0) return;
  if (!is_path_mtu(packet.view.payload.size())) return;
  path_mtu_ = static_cast<uint32_t>(packet.view.payload.size());
  if (!open_read_) return;
  Message* const message = messages_.find(*open_read_);
  if (message == nullptr || !message->knows_length) return;
  const auto packets = static_cast<int64_t>((message->announced + path_mtu_ - 1) / path_mtu_);
  settle_read(message->first + std::max<int64_t>(packets, 1), true);
  message->exact_end = true;
  expected_ = expected_most_ = message->end;
}

void RequestFlow::acknowledge(LongPsn end, int64_t time_ns) {
  messages_.acknowledge(end, time_ns);
  counts_.missed += line_.close_holes_below(std::min(end, expected_));
  acknowledged_ = std::max(acknowledged_, end);
  if (rnr_ && rnr_->psn < end) rnr_.reset();
}

void RequestFlow::on_ack(const CapturedPacket& packet, LongPsn psn) {
  if (!has_kept(packet, Ext::kAeth)) return on_cut_answer(packet, psn);
  const uint8_t syndrome = packet.view.headers.aeth.syndrome;
  switch (ack_kind(syndrome)) {
    case AckKind::kAck:
      ++counts_.acks;
      if (psn < acknowledged_) ++counts_.repeated_responses;
      acknowledge(psn + 1, packet.time_ns);
      break;
    case AckKind::kRnrNak:
      ++counts_.rnr_naks;
      mark(FlowEvent::kRnrNak, psn);
      acknowledge(psn, packet.time_ns);
      rnr_ = RnrNak{psn, packet.time_ns};
      break;
    case AckKind::kNak:
      on_nak(packet, psn, syndrome_value(syndrome));
      break;
    case AckKind::kReserved:
      break;
  }
}

/// An ACK or a NAK. One of a PSN that was not seen is a NAK; else it is taken for an ACK, unless
/// the packet comes again.
void RequestFlow::on_cut_answer(const CapturedPacket& packet, LongPsn psn) {
  ++counts_.cut_answers;
  if (psn >= expected_ || line_.hole_at(psn) != nullptr) {
    acknowledge(psn, packet.time_ns);
    return on_sequence_nak(psn);
  }
  acknowledge(psn + 1, packet.time_ns);
  cut_answer_ = psn;
}

void RequestFlow::on_nak(const CapturedPacket& packet, LongPsn psn, uint8_t code) {
  ++counts_.naks.at(code);
  acknowledge(psn, packet.time_ns);
  if (code == static_cast<uint8_t>(NakCode::kPsnSequenceError)) {
    mark(FlowEvent::kSequenceNak, psn);
    on_sequence_nak(psn);
    return;
  }
  mark(FlowEvent::kErrorNak, psn);
  if (counts_.error_naks.size() < FlowCounts::kKeptErrors) {
    counts_.error_naks.push_back({packet.frame, code, packet.view.headers.bth.psn.value()});
  }
  messages_.fail(psn, packet.time_ns);
  failed_ = true;
}

void RequestFlow::on_sequence_nak(LongPsn psn) {
  line_.ask_for(psn, psn + 1, Asked::kByNak);
  const auto found = line_.find(psn);
  // The responder dropped what came behind a hole here, too: that was not lost.
  const bool passed_here = found && !found->second->doubtful;
  if (passed_here && nak_ != psn && !found->second->lost_behind) {
    found->second->lost_behind = true;
    ++counts_.lost_after;
    mark(FlowEvent::kLostAfter, psn);
  }
  nak_ = std::min(nak_.value_or(psn), psn);
  last_nak_ = psn;
  nak_ns_ = now_ns_;
}

void RequestFlow::on_atomic_ack(const CapturedPacket& packet, LongPsn psn) {
  ++counts_.atomic_acks;
  if (psn < acknowledged_) ++counts_.repeated_responses;
  messages_.answer(psn, packet.time_ns);
  acknowledge(psn + 1, packet.time_ns);
}

RequestFlow::Turn RequestFlow::turn() const {
  const auto& queue = messages_.outstanding();
  if (!reliable_) {
    return queue.empty() || queue.back().ended ? Turn::kNobody : Turn::kRequester;
  }
  const auto waiting =
      std::find_if(queue.begin(), queue.end(), [](const Message& m) { return !m.overtaken; });
  if (failed_ || waiting == queue.end()) return Turn::kNobody;
  return nak_ || rnr_ || !waiting->ended ? Turn::kRequester : Turn::kResponder;
}

uint64_t RequestFlow::lost_messages() const {
  if (failed_) return 0;
  const auto& queue = messages_.outstanding();
  return static_cast<uint64_t>(std::count_if(
      queue.begin(), queue.end(), [](const Message& m) { return !m.overtaken && m.sent_again; }));
}

}  // namespace urxe::analyze
