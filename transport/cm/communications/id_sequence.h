// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/secret_numbers.h"
#include "transport/cm/connection_manager.h"

namespace urxe {

/// Draws communication ids and transaction ids. Without the secret, an id tells nothing about
/// others. An id comes again only after all others with its prefix, long after its time-wait.
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
