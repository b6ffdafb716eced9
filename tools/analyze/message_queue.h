// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "tools/analyze/captured_packet.h"
#include "tools/analyze/log_histogram.h"
#include "tools/analyze/psn_line.h"
#include "tools/analyze/sample.h"

namespace urxe::analyze {

/// The kinds of messages that are told apart.
enum class MessageKind : uint8_t { kSend, kWrite, kRead, kAtomic, kFlush, kCount };
inline constexpr size_t kMessageKinds = static_cast<size_t>(MessageKind::kCount);
std::string_view message_kind_name(MessageKind kind);  ///< "send"
MessageKind message_kind(Operation operation);
/// Whether an ACK is not enough.
bool has_own_answer(MessageKind kind);

/// A message whose answer has not been seen yet.
struct Message {
  MessageKind kind = MessageKind::kSend;
  uint64_t frame = 0;
  int64_t start_ns = 0;
  LongPsn first = 0;
  LongPsn end = 0;            ///< behind its last packet; of those seen so far unless it has ended
  bool started = true;        ///< its first packet was seen
  bool ended = false;         ///< its last packet was seen
  bool in_order = true;       ///< all its packets were seen, each for the first time and in order
  uint64_t bytes = 0;         ///< seen, without repeats; of a READ those it asks for
  uint64_t announced = 0;     ///< by the RETH
  bool knows_length = true;   ///< false if the capture cut the RETH
  LongPsn responses_end = 0;  ///< of a READ: behind the newest one of the answer that comes now
  LongPsn seen_until = 0;     ///< behind all its responses that were seen
  bool exact_end = true;      ///< false for a READ while the path MTU is not known
  bool sent_again = false;    ///< a packet of it was
  bool in_parts = false;      ///< a part of this READ was asked for again by itself
  bool overtaken = false;     ///< a later message was answered
  /// Behind the response that says that it is the last one.
  std::optional<LongPsn> responses_stop;
  /// From here on all was asked for again, and that answer has not begun.
  std::optional<LongPsn> asked_from;
};

/// From the first packet of a message to its answer.
struct MessageSpan {
  MessageKind kind = MessageKind::kSend;
  bool failed = false;  ///< the answer was a NAK that is an error
  uint64_t frame = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  LongPsn first = 0;
  uint64_t bytes = 0;
};

/// What happened to the messages of one kind.
struct MessageCounts {
  uint64_t sent = 0;
  uint64_t answered = 0;
  uint64_t failed = 0;   ///< NAK that is an error
  uint64_t bytes = 0;    ///< of those that were sent
  LogHistogram latency;  ///< from the first packet to the answer
};

/// The messages of a requester, in PSN order, until they are answered. Bounded: the oldest one is
/// given up when there are too many.
class MessageQueue {
 public:
  static constexpr size_t kMaxOutstanding = 4096;
  static constexpr size_t kMaxUnanswered = 256;  ///< of UC
  static constexpr size_t kMaxSpans = 1024;

  /// A request packet that was not seen before. `in_order`: it follows the newest one.
  Message& add(const CapturedPacket& packet, LongPsn psn, int64_t span, bool in_order);
  /// Every SEND and WRITE that ends before `end` is answered.
  void acknowledge(LongPsn end, int64_t time_ns);
  /// The message at `psn` failed, if there is one.
  void fail(LongPsn psn, int64_t time_ns);
  /// The message at `psn` has its answer.
  void answer(LongPsn psn, int64_t time_ns);
  [[nodiscard]] Message* find(LongPsn psn);
  /// UC: nothing is ever answered. Keeps the newest messages, since late packets may belong to
  /// them.
  void forget_old();
  /// At the end of the capture: keeps a message that has begun and not ended.
  void forget_ended();

  [[nodiscard]] const std::deque<Message>& outstanding() const { return queue_; }
  [[nodiscard]] const std::array<MessageCounts, kMessageKinds>& counts() const { return counts_; }
  [[nodiscard]] uint64_t given_up() const { return given_up_; }
  /// Of those that have an answer.
  [[nodiscard]] const Sample<MessageSpan, kMaxSpans>& spans() const { return spans_; }

 private:
  using Iterator = std::deque<Message>::iterator;
  Iterator after(LongPsn psn);
  Message& begin(const CapturedPacket& packet, LongPsn psn, int64_t span);
  Iterator cut(const Iterator& message, LongPsn at);
  Iterator forget(const Iterator& message);
  void finish(const Message& message, int64_t time_ns);
  void keep_span(const Message& message, int64_t time_ns, bool failed);
  MessageCounts& counts(MessageKind kind) { return counts_.at(static_cast<size_t>(kind)); }

  std::deque<Message> queue_;
  std::array<MessageCounts, kMessageKinds> counts_;
  Sample<MessageSpan, kMaxSpans> spans_;
  uint64_t given_up_ = 0;
};

}  // namespace urxe::analyze
