// SPDX-License-Identifier: BSD-2-Clause
// Memory whose every byte has a known value: the messages' places, and guard bytes in all the gaps
// between, before and after them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pattern.h"

namespace rc_verify {

// What a range of the arena holds; everything outside of all ranges holds guard bytes.
struct Range {
  uint64_t arena_offset = 0;
  uint64_t length = 0;
  PatternKey key = {};                // The pattern it holds,
  uint64_t pattern_offset = 0;        // from this byte on;
  std::optional<uint64_t> word = {};  // or this value, in 8 bytes.
  uint32_t message = 0;               // Whose it is: for the report of a difference.
};

class Arena {
 public:
  // Memory of `size` usable bytes between two guard pages.
  Arena(uint64_t size, PatternKey guard);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint8_t* data() const { return base_ + kGuardSize; }
  uint64_t size() const { return size_; }

  // Writes every byte. The ranges do not overlap.
  void fill(std::vector<Range> ranges);
  // Compares every byte; throws with `where`, the place and both values at the first difference.
  void check(std::vector<Range> ranges, const std::string& where) const;

 private:
  static constexpr uint64_t kGuardSize = 4096;

  // Calls visit(range) for the ranges and for the guard ranges between them, in order of address.
  template <typename Visit>
  void for_each(std::vector<Range>& ranges, Visit visit) const;

  uint64_t size_;
  PatternKey guard_;
  uint8_t* base_;
};

}  // namespace rc_verify
