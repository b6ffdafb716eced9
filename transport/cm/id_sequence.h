// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/secret_numbers.h"
#include "transport/cm/connection_manager.h"

namespace urxe {

/// Draws communication ids and transaction ids. To whoever does not know the secret an id says
/// nothing about any other one; and an id comes back only after all others with its prefix have
/// been drawn, long after its time-wait.
class CmIdSequence {
 public:
  CmIdSequence(const SipKey& secret, uint32_t prefix) : numbers_(secret), prefix_(prefix) {}

  CommId next_id();  ///< never 0
  uint64_t next_transaction();

 private:
  SecretNumbers numbers_;
  uint32_t prefix_;
  uint64_t ids_ = 0;
  uint64_t transactions_ = 0;
};

}  // namespace urxe
