// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urxe {

/// Asks the processor for the beginning of bytes that are to be read soon, which another processor
/// has written. The processor itself fetches what follows, but begins anew at each page.
inline void fetch_ahead(std::span<const uint8_t> bytes) {
  constexpr size_t kCacheLine = 64;
  constexpr size_t kMost = 40 * kCacheLine;
  const size_t end = std::min(bytes.size(), kMost);
  for (size_t at = 0; at < end; at += kCacheLine) __builtin_prefetch(bytes.data() + at);
}

}  // namespace urxe
