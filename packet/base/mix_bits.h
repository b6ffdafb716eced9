// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  ///< of 2^64

/// Spreads the bits of a number over all bits of the result, one to one. Applied to a counter that
/// grows by kGoldenRatio it is splitmix64, the same numbers on every machine. An attacker can
/// invert it: use siphash() where that matters.
constexpr uint64_t mix_bits(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace urxe
