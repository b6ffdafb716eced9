// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urxe {

/// 128 secret bits, as the little-endian halves k0 and k1 of the SipHash paper.
struct SipKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed pseudo-random function. Without
/// the key its values cannot be told from random ones, however many of them are known.
[[nodiscard]] uint64_t siphash(const SipKey& key, std::span<const uint8_t> message);

}  // namespace urxe
