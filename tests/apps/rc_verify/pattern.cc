// SPDX-License-Identifier: BSD-2-Clause
#include "pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/support/random.h"

namespace rc_verify {

using urxe::Random;

namespace {

constexpr size_t kWord = sizeof(uint64_t);

uint64_t word(PatternKey key, uint64_t index) {
  return Random::mix(key.value + index * Random::kGoldenRatio);
}

}  // namespace

PatternKey make_key(std::initializer_list<uint64_t> parts) {
  uint64_t value = Random::kGoldenRatio;
  for (uint64_t part : parts) value = Random::mix(value + Random::kGoldenRatio + part);
  return {value};
}

void fill_pattern(PatternKey key, uint64_t offset, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const uint64_t w = word(key, offset / kWord);
    const size_t skip = offset % kWord;
    const size_t n = std::min(kWord - skip, bytes.size());
    std::memcpy(bytes.data(), reinterpret_cast<const uint8_t*>(&w) + skip, n);
    bytes = bytes.subspan(n);
    offset += n;
  }
}

std::optional<size_t> first_difference(PatternKey key, uint64_t offset,
                                       std::span<const uint8_t> bytes) {
  std::array<uint8_t, 4096> expected;
  for (size_t at = 0; at < bytes.size(); at += expected.size()) {
    const size_t n = std::min(expected.size(), bytes.size() - at);
    fill_pattern(key, offset + at, std::span(expected).first(n));
    if (std::memcmp(expected.data(), bytes.data() + at, n) == 0) continue;
    const auto [want, have] =
        std::mismatch(expected.begin(), expected.begin() + n, bytes.begin() + at);
    return static_cast<size_t>(have - bytes.begin());
  }
  return std::nullopt;
}

}  // namespace rc_verify
