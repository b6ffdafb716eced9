// SPDX-License-Identifier: BSD-2-Clause
#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "failure.h"

namespace rc_verify {
namespace {

std::span<const uint8_t> as_bytes(const uint64_t& word) {
  return {reinterpret_cast<const uint8_t*>(&word), sizeof word};
}

std::optional<size_t> range_difference(const Range& range, std::span<const uint8_t> bytes) {
  if (!range.word) return first_difference(range.key, range.pattern_offset, bytes);
  const auto want = as_bytes(*range.word);
  for (size_t i = 0; i < want.size(); ++i)
    if (want[i] != bytes[i]) return i;
  return std::nullopt;
}

uint8_t wanted_byte(const Range& range, size_t index) {
  if (range.word) return as_bytes(*range.word)[index];
  uint8_t byte = 0;
  fill_pattern(range.key, range.pattern_offset + index, {&byte, 1});
  return byte;
}

}  // namespace

Arena::Arena(uint64_t size, PatternKey guard) : size_(size), guard_(guard) {
  void* memory = ::mmap(nullptr, size + 2 * kGuardSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) system_failed("mmap");
  base_ = static_cast<uint8_t*>(memory);
}

Arena::~Arena() {
  ::munmap(base_, size_ + 2 * kGuardSize);
}

template <typename Visit>
void Arena::for_each(std::vector<Range>& ranges, Visit visit) const {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.arena_offset < b.arena_offset; });
  // Offsets from here on count from base_, the first guard page included.
  uint64_t at = 0;
  const auto guard_until = [&](uint64_t end) {
    if (end > at) visit(Range{at, end - at, guard_, at, {}, 0}, /*is_guard=*/true);
  };
  for (const Range& range : ranges) {
    Range placed = range;
    placed.arena_offset += kGuardSize;
    guard_until(placed.arena_offset);
    visit(placed, /*is_guard=*/false);
    at = placed.arena_offset + placed.length;
  }
  guard_until(size_ + 2 * kGuardSize);
}

void Arena::fill(std::vector<Range> ranges) {
  for_each(ranges, [this](const Range& range, bool) {
    uint8_t* to = base_ + range.arena_offset;
    if (range.word) {
      std::memcpy(to, &*range.word, sizeof *range.word);
    } else {
      fill_pattern(range.key, range.pattern_offset, {to, range.length});
    }
  });
}

void Arena::check(std::vector<Range> ranges, const std::string& where) const {
  for_each(ranges, [&](const Range& range, bool is_guard) {
    const std::span<const uint8_t> bytes(base_ + range.arena_offset, range.length);
    const auto index = range_difference(range, bytes);
    if (!index) return;
    const long long offset =
        static_cast<long long>(range.arena_offset + *index) - static_cast<long long>(kGuardSize);
    const std::string whose =
        is_guard
            ? "a guard byte"
            : format("message %u, its byte %llu (range of %llu bytes, its byte %zu)", range.message,
                     static_cast<unsigned long long>(range.pattern_offset + *index),
                     static_cast<unsigned long long>(range.length), *index);
    mismatch(format("%s: arena offset %lld, %s: expected 0x%02x, found 0x%02x", where.c_str(),
                    offset, whose.c_str(), wanted_byte(range, *index), bytes[*index]));
  });
}

}  // namespace rc_verify
