// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/message_queue.h"

#include <algorithm>

namespace urxe::analyze {
namespace {

/// A message of which `packet` is the first packet that was seen.
Message begin_message(const CapturedPacket& packet, LongPsn psn) {
  const Headers& headers = packet.view.headers;
  const OpcodeInfo& info = opcode_info(headers.bth.opcode);
  Message message;
  message.kind = message_kind(headers.bth.opcode.operation());
  message.frame = packet.frame;
  message.start_ns = packet.time_ns;
  message.first = message.end = message.responses_end = message.seen_until = psn;
  message.started = message.in_order = info.starts_message;
  if (has(info.extensions, Ext::kReth)) {
    message.announced = headers.reth.dma_length;
    message.knows_length = has_kept(packet, Ext::kReth);
  }
  return message;
}

}  // namespace

std::string_view message_kind_name(MessageKind kind) {
  constexpr std::array<std::string_view, kMessageKinds> kNames = {"send", "write", "read", "atomic",
                                                                  "flush"};
  return kNames.at(static_cast<size_t>(kind));
}

MessageKind message_kind(Operation operation) {
  switch (operation) {
    case Operation::kReadRequest:
      return MessageKind::kRead;
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
    case Operation::kAtomicWrite:
      return MessageKind::kAtomic;
    case Operation::kFlush:
      return MessageKind::kFlush;
    default:
      return operation >= Operation::kWriteFirst && operation <= Operation::kWriteOnlyImm
                 ? MessageKind::kWrite
                 : MessageKind::kSend;
  }
}

bool has_own_answer(MessageKind kind) {
  return kind != MessageKind::kSend && kind != MessageKind::kWrite;
}

MessageQueue::Iterator MessageQueue::after(LongPsn psn) {
  return std::upper_bound(queue_.begin(), queue_.end(), psn,
                          [](LongPsn p, const Message& m) { return p < m.first; });
}

Message* MessageQueue::find(LongPsn psn) {
  const auto it = after(psn);
  if (it == queue_.begin()) return nullptr;
  Message& message = *(it - 1);
  return psn < message.end || !message.ended ? &message : nullptr;
}

/// The packets of a message from `at` on turn out to be those of another one, whose first packet
/// was not seen. Returns it.
MessageQueue::Iterator MessageQueue::cut(const Iterator& message, LongPsn at) {
  Message rest = *message;
  rest.first = at;
  rest.started = rest.in_order = false;
  rest.bytes = 0;
  message->end = at;
  message->ended = true;
  message->in_order = false;
  ++counts(rest.kind).sent;
  return queue_.insert(message + 1, rest);
}

/// Removes a message whose packets belong to another one.
MessageQueue::Iterator MessageQueue::forget(const Iterator& message) {
  --counts(message->kind).sent;
  return queue_.erase(message);
}

/// Begins a message with `packet`. Packets of it that came earlier were added to the message
/// before, or to one whose first packet is missing.
Message& MessageQueue::begin(const CapturedPacket& packet, LongPsn psn, int64_t span) {
  const OpcodeInfo& info = opcode_info(packet.view.headers.bth.opcode);
  Message message = begin_message(packet, psn);
  auto next = after(psn);
  if (info.starts_message && next != queue_.begin() && psn < (next - 1)->end) {
    const auto before = next - 1;
    if (has_own_answer(before->kind)) {
      before->end = psn;  // a READ that was taken for longer than it is has no other packets
    } else {
      next = before->first == psn && !before->started ? before : cut(before, psn);
    }
  }
  const bool follows = next != queue_.end() && !next->started && next->kind == message.kind;
  if (follows && !info.ends_message) {
    message.end = next->end;
    message.ended = next->ended;
    message.in_order = false;
    message.bytes = next->bytes;
    next = forget(next);
  } else if (next != queue_.end() && !next->started && next->first < psn + span) {
    next->first = psn + span;
    if (next->first >= next->end) next = forget(next);
  }
  ++counts(message.kind).sent;
  return *queue_.insert(next, message);
}

Message& MessageQueue::add(const CapturedPacket& packet, LongPsn psn, int64_t span, bool in_order) {
  const OpcodeInfo& info = opcode_info(packet.view.headers.bth.opcode);
  Message* message = info.starts_message ? nullptr : find(psn);
  // The end of one message and the beginning of the next may both be missing.
  const MessageKind kind = message_kind(packet.view.headers.bth.opcode.operation());
  if (message != nullptr && message->kind != kind) message = nullptr;
  if (message == nullptr) message = &begin(packet, psn, span);
  if (info.ends_message && message->end > psn + span) {
    message = &*(cut(after(psn) - 1, psn + span) - 1);
  }
  message->in_order = message->in_order && in_order && message->end == psn;
  message->end = std::max(message->end, psn + span);
  message->ended = message->ended || info.ends_message;
  const bool read = message->kind == MessageKind::kRead;
  const uint64_t bytes = read ? message->announced : packet.view.payload.size();
  message->bytes += bytes;
  counts(message->kind).bytes += bytes;
  while (queue_.size() > kMaxOutstanding) {
    // The one at hand is the newest, or close to it.
    queue_.pop_front();
    ++given_up_;
    message = find(psn);
  }
  return message != nullptr ? *message : queue_.back();
}

void MessageQueue::forget_old() {
  while (queue_.size() > kMaxUnanswered) queue_.pop_front();
}

void MessageQueue::forget_ended() {
  const bool goes_on = !queue_.empty() && !queue_.back().ended;
  queue_.erase(queue_.begin(), queue_.end() - (goes_on ? 1 : 0));
}

void MessageQueue::finish(const Message& message, int64_t time_ns) {
  MessageCounts& kind = counts(message.kind);
  ++kind.answered;
  if (message.started) kind.latency.add(time_ns - message.start_ns);
  keep_span(message, time_ns, false);
}

void MessageQueue::keep_span(const Message& message, int64_t time_ns, bool failed) {
  spans_.add({message.kind, failed, message.frame, message.start_ns, time_ns, message.first,
              message.bytes});
}

void MessageQueue::acknowledge(LongPsn end, int64_t time_ns) {
  auto last = queue_.begin();
  while (last != queue_.end() && last->end <= end) {
    // The last packet may be one that the capture missed.
    const auto next = last + 1;
    if (!last->ended && (next == queue_.end() || next->first >= end)) break;
    last = next;
  }
  const auto kept = std::remove_if(queue_.begin(), last, [&](Message& message) {
    message.overtaken = true;
    if (has_own_answer(message.kind)) return false;
    finish(message, time_ns);
    return true;
  });
  queue_.erase(kept, last);
}

void MessageQueue::fail(LongPsn psn, int64_t time_ns) {
  Message* const message = find(psn);
  if (message == nullptr) return;
  ++counts(message->kind).failed;
  keep_span(*message, time_ns, true);
  queue_.erase(after(psn) - 1);
}

void MessageQueue::answer(LongPsn psn, int64_t time_ns) {
  Message* const message = find(psn);
  if (message == nullptr) return;
  finish(*message, time_ns);
  queue_.erase(after(psn) - 1);
}

}  // namespace urxe::analyze
