// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/siphash.h"

namespace urxe {

/// A key that nobody can guess. Waits until the kernel has random numbers, which it has soon after
/// the machine has started.
SipKey random_secret();
/// As random_secret(): a number that nobody can guess.
uint64_t secret_number();

/// A number that differs from process to process and from call to call, but need not be secret.
/// Never waits: it is made from the clock while the kernel has no random numbers yet.
uint64_t random_number();

}  // namespace urxe
