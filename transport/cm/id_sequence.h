// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "transport/cm/connection_manager.h"
#include "transport/siphash.h"

namespace urxe {

/// Draws communication ids and transaction ids. To whoever does not know the secret an id says
/// nothing about any other one; and an id comes back only after all others with its prefix have
/// been drawn, long after its time-wait.
class CmIdSequence {
 public:
  CmIdSequence(const SipKey& secret, uint32_t prefix) : secret_(secret), prefix_(prefix) {}

  CommId next_id();  ///< never 0
  uint64_t next_transaction();

 private:
  [[nodiscard]] uint64_t draw(uint64_t counter, uint32_t use, uint32_t input) const;
  [[nodiscard]] uint32_t permuted(uint32_t value, uint64_t pass) const;

  SipKey secret_;
  uint32_t prefix_;
  uint64_t ids_ = 0;
  uint64_t transactions_ = 0;
};

}  // namespace urxe
