// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/siphash.h"

namespace urxe {

/// The place of the queue pair indices of a slot in an order that only those who know the secret
/// can tell: a permutation of the numbers 0 to 32767. So a stranger who has seen some queue pair
/// numbers cannot say which are in use or come next, and yet none comes back before all others.
uint32_t index_at(const SipKey& secret, uint32_t slot, uint32_t place);

}  // namespace urxe
