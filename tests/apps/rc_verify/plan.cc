// SPDX-License-Identifier: BSD-2-Clause
#include "plan.h"

#include <algorithm>

namespace rc_verify {
namespace {

// The part of a list that carries the message's first `length` bytes, as ranges.
void add_ranges(std::vector<Range>& ranges, const std::vector<Piece>& pieces, uint64_t length,
                PatternKey key, uint32_t message) {
  for (const Piece& piece : pieces) {
    if (piece.message_offset >= length) continue;
    const uint64_t n = std::min(piece.length, length - piece.message_offset);
    if (n == 0) continue;
    ranges.push_back({piece.arena_offset, n, key, piece.message_offset, {}, message});
  }
}

void add_word(std::vector<Range>& ranges, uint64_t offset, uint64_t word, uint32_t message) {
  ranges.push_back({offset, sizeof word, {}, 0, word, message});
}

}  // namespace

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::kSend:
      return "SEND";
    case Operation::kSendImm:
      return "SEND_WITH_IMM";
    case Operation::kWrite:
      return "RDMA_WRITE";
    case Operation::kWriteImm:
      return "RDMA_WRITE_WITH_IMM";
    case Operation::kRead:
      return "RDMA_READ";
    case Operation::kCompareSwap:
      return "CMP_AND_SWP";
    case Operation::kFetchAdd:
      return "FETCH_AND_ADD";
  }
  return "?";
}

bool is_send(Operation operation) {
  return operation == Operation::kSend || operation == Operation::kSendImm;
}
bool is_write(Operation operation) {
  return operation == Operation::kWrite || operation == Operation::kWriteImm;
}
bool is_atomic(Operation operation) {
  return operation == Operation::kCompareSwap || operation == Operation::kFetchAdd;
}
bool has_immediate(Operation operation) {
  return operation == Operation::kSendImm || operation == Operation::kWriteImm;
}
bool takes_receive(Operation operation) {
  return is_send(operation) || operation == Operation::kWriteImm;
}

std::vector<Range> Plan::local_before() const {
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const bool own_bytes = is_send(message.operation) || is_write(message.operation);
    if (own_bytes && message.content == i)
      add_ranges(ranges, message.local, message.length, content_key(i), i);
  }
  return ranges;
}

std::vector<Range> Plan::local_after() const {
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (message.content != i) continue;
    if (is_atomic(message.operation)) {
      add_word(ranges, message.local[0].arena_offset, message.original, i);
    } else {
      const PatternKey held = message.in_line ? scribble_key(i) : content_key(i);
      add_ranges(ranges, message.local, message.length, held, i);
    }
  }
  return ranges;
}

std::vector<Range> Plan::remote_before() const {
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < messages.size(); ++i) {
    if (messages[i].operation == Operation::kRead)
      add_ranges(ranges, messages[i].remote, messages[i].length, content_key(i), i);
  }
  for (const Counter& counter : counters) add_word(ranges, counter.arena_offset, counter.before, 0);
  return ranges;
}

std::vector<Range> Plan::remote_after() const {
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < messages.size(); ++i) {
    if (!is_atomic(messages[i].operation))
      add_ranges(ranges, messages[i].remote, messages[i].length, content_key(i), i);
  }
  for (const Counter& counter : counters) add_word(ranges, counter.arena_offset, counter.after, 0);
  return ranges;
}

}  // namespace rc_verify
