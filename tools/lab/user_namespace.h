// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/lab/failure.h"

namespace urxe::lab {

/// Gives this process, and its children from now on, a PID namespace, in which the next child is
/// init, and a mount namespace from which no mount reaches the host. Root, with CAP_SYS_ADMIN,
/// needs nothing else; others get a user namespace as well, in which they keep their user and group
/// and have every capability. The error says what to do.
Done enter_namespaces();

/// What to do if the kernel refuses to make a user namespace with this errno, by the settings under
/// `proc_sys` (/proc/sys, but in tests).
std::string advice_on(int error, const std::string& proc_sys);

/// Reduces the capabilities of this process to those that a lab's programs keep, and makes the
/// programs that it becomes inherit them: CAP_NET_ADMIN and CAP_NET_RAW, which reach no further
/// than the lab's networks, and those that it takes to enter another node. Does nothing for root.
Done keep_rights();

}  // namespace urxe::lab
