// SPDX-License-Identifier: BSD-2-Clause
// What one requester asks of one responder in a batch. Both processes compute the same plan from
// the seed, so each knows every byte and every completion to expect.
#pragma once

#include <cstdint>
#include <vector>

#include "arena.h"
#include "pattern.h"

namespace rc_verify {

enum class Operation : uint8_t {
  kSend,
  kSendImm,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
};
inline constexpr Operation kAllOperations[] = {
    Operation::kSend, Operation::kSendImm,     Operation::kWrite,   Operation::kWriteImm,
    Operation::kRead, Operation::kCompareSwap, Operation::kFetchAdd};

const char* name_of(Operation operation);
bool is_send(Operation operation);
bool is_write(Operation operation);
bool is_atomic(Operation operation);
bool has_immediate(Operation operation);
// Whether the responder's receive queue gives an entry for it.
bool takes_receive(Operation operation);

// A part of a message and its place in an arena.
struct Piece {
  uint64_t arena_offset = 0;
  uint64_t message_offset = 0;
  uint64_t length = 0;
};

struct Message {
  Operation operation = Operation::kSend;
  uint64_t length = 0;
  uint32_t immediate = 0;
  bool signaled = true;
  bool solicited = false;
  bool fenced = false;
  bool in_line = false;
  uint32_t content =
      0;  // The message whose pattern its bytes have: itself, or the READ it sends on.
  std::vector<Piece> local;   // The requester's gather or scatter list.
  std::vector<Piece> remote;  // The responder's: one piece, or a receive's scatter list.
  uint64_t compare_add = 0;   // Atomics: the operands,
  uint64_t swap = 0;
  uint64_t original = 0;  // and the value that comes back.
};

// A 64-bit word at the responder that atomics work on.
struct Counter {
  uint64_t arena_offset = 0;
  uint64_t before = 0;
  uint64_t after = 0;
};

struct Plan {
  PatternKey key;
  std::vector<Message> messages;
  std::vector<Counter> counters;
  uint64_t local_size = 0;   // Of the requester's arena, in bytes.
  uint64_t remote_size = 0;  // Of the responder's.

  PatternKey content_key(uint32_t message) const {
    return make_key({key.value, messages[message].content});
  }
  // What the posting requester overwrites the memory of an inline message with.
  PatternKey scribble_key(uint32_t message) const { return make_key({key.value, message, 1}); }

  // What the arenas hold before the first and after the last message.
  std::vector<Range> local_before() const;
  std::vector<Range> local_after() const;
  std::vector<Range> remote_before() const;
  std::vector<Range> remote_after() const;
};

// What a plan may contain.
struct PlanLimits {
  uint64_t max_size = 0;  // Of one message, in bytes.
  bool no_empty = false;  // No message of 0 bytes, if sizes are random.
  uint64_t budget = 0;    // Of all messages together, in bytes; at least max_size.
  uint32_t messages = 0;  // At most.
  uint32_t path_mtu = 0;
  uint32_t max_sge = 1;
  uint32_t max_inline = 0;
  uint32_t operations = ~0U;  // Bits 1 << Operation.
  bool all_inline = false;    // Whatever may be inline is.
  bool fences = true;         // Some messages wait for the READs and atomics before them.
  uint32_t pieces = 0;        // Of every list that is long enough; 0: at random.
  // Ends with a SEND: where completions do not tell that the data before them has arrived, its
  // arrival does.
  bool closing_send = false;
};

bool contains(const PlanLimits& limits, Operation operation);

// Random operations, sizes (around multiples of the path MTU), lists and flags.
Plan random_plan(PatternKey key, const PlanLimits& limits);
// One message of each of the operations for the size.
Plan size_plan(PatternKey key, const PlanLimits& limits, uint64_t size);
// The single message.
Plan single_plan(PatternKey key, const PlanLimits& limits, Operation operation, uint64_t size);

// Sizes worth trying: 0, 1, odd ones, around multiples of the path MTU, powers of two up to
// max_size.
std::vector<uint64_t> interesting_sizes(uint32_t path_mtu, uint64_t max_size);

}  // namespace rc_verify
