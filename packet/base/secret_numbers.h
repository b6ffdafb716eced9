// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/siphash.h"

namespace urxe {

/// Numbers for names that nobody may guess, such as keys and communication ids: without the secret,
/// a number says nothing about any other one.
class SecretNumbers {
 public:
  explicit SecretNumbers(const SipKey& secret) : secret_(secret) {}

  static constexpr unsigned kPermutedBits = 24;
  /// A permutation of the numbers of kPermutedBits, another one for each `pass`. (A Feistel network
  /// of as many rounds as NIST SP 800-38G gives one over a small domain.)
  [[nodiscard]] uint32_t permuted(uint32_t value, uint64_t pass) const;
  /// A number for each counter, independent of the permutations.
  [[nodiscard]] uint64_t number(uint64_t counter) const;

 private:
  [[nodiscard]] uint64_t draw(uint64_t counter, uint32_t use, uint32_t input) const;

  SipKey secret_;
};

}  // namespace urxe
