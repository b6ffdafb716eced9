// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/siphash.h"

namespace urxe {

/// From the kernel's random numbers.
SipKey random_secret();

}  // namespace urxe
