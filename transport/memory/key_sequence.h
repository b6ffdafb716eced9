// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/secret_numbers.h"

namespace urxe {

/// Draws memory keys. The upper 24 bits name a region or window, the lower 8 tell its keys apart
/// (ibv_inc_rkey(3) changes those). Without the secret, a key tells nothing about other keys. A
/// name comes again only after all others.
class KeySequence {
 public:
  explicit KeySequence(const SipKey& secret) : numbers_(secret) {}

  /// The next key. Its name is never 0 or the highest one.
  uint32_t next();

 private:
  static constexpr uint32_t kNames = 1U << SecretNumbers::kPermutedBits;

  SecretNumbers numbers_;
  uint64_t counter_ = 0;
};

}  // namespace urxe
