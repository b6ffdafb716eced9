// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "packet/base/expected.h"

namespace urxe {

/// Whether the error means that this system does not offer or permit the operation, and not that it
/// has failed.
bool is_not_offered(int errno_value);

/// The number of the calling thread's network namespace, as in "net:[4026531840]". The kernel may
/// use it again after the namespace has ended. 0 if /proc does not tell.
uint64_t network_namespace_number();

/// The number of the calling thread's network namespace since the machine has started, which no
/// other gets; 0 if the kernel does not tell (before 5.14). EMFILE, ENOMEM, ...
Expected<uint64_t, Errno> network_cookie();

/// Text that no other network namespace of any machine has, of at most 36 letters, digits and '-':
/// the start of the machine, and the namespace's number and cookie (kernels from 5.14; on older
/// ones the number alone tells namespaces apart). What the system does not tell is 0. An error if
/// it could have told: with another text the process would meet others, or nobody. EMFILE, ...
Expected<std::string, Errno> network_identity();

/// The part of network_identity() that all namespaces have in common until the machine starts
/// again; "0" if it cannot be read now.
std::string machine_identity();

}  // namespace urxe
