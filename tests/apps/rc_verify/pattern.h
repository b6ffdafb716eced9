// SPDX-License-Identifier: BSD-2-Clause
// The bytes that messages are made of: a function of a key and the byte's offset in the message, so
// that a byte which arrives at a wrong place, from another message or from another run is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <span>

namespace rc_verify {

struct PatternKey {
  uint64_t value = 0;
};

// A key that depends on every part and on their order.
PatternKey make_key(std::initializer_list<uint64_t> parts);

// Writes the bytes offset, offset + 1, ... of the pattern.
void fill_pattern(PatternKey key, uint64_t offset, std::span<uint8_t> bytes);

// The index in `bytes` of the first that differs from the pattern's bytes offset, offset + 1, ...
std::optional<size_t> first_difference(PatternKey key, uint64_t offset,
                                       std::span<const uint8_t> bytes);

// A seeded source of choices; the same in both processes.
class Choice {
 public:
  explicit Choice(PatternKey key) : generator_(key.value) {}
  uint64_t bits() { return generator_(); }
  // 0 .. bound - 1; bound is not 0.
  uint64_t below(uint64_t bound) { return generator_() % bound; }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 generator_;
};

}  // namespace rc_verify
