// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/gid.h"

namespace urxe {

/// Whether one of the host's interfaces has the address now, in the caller's network namespace.
/// False also for link-local IPv6 addresses, and if there is no descriptor to ask the kernel with.
/// Any thread; some system calls.
bool is_address_of_this_host(const Gid& address);

}  // namespace urxe
