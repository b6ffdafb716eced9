// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace urxe {

inline constexpr uint64_t kFnvBasis = 0xcbf29ce484222325;

/// FNV-1a, 64 bits: the same on every machine and on every run. `hash` is the value for the text
/// before. Use siphash() for input that an attacker can choose.
constexpr uint64_t fnv1a(std::string_view text, uint64_t hash = kFnvBasis) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * kPrime;
  return hash;
}

}  // namespace urxe
