// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace urxe {

/// 128 secret bits, little-endian halves as the SipHash paper has them (k0, k1).
struct SipKey {
  uint64_t k0 = 0;
  uint64_t k1 = 0;
};

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a keyed pseudo-random function. Who does not know
/// the key cannot tell its values from random ones, however many of them are seen.
[[nodiscard]] uint64_t siphash(const SipKey& key, std::span<const uint8_t> message);

}  // namespace urxe
