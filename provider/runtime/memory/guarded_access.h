// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/memory/host_memory.h"

namespace urxe {

/// Accesses to this process's own memory that do not fault (DeviceConfig::guarded_access). A copy
/// is a system call, which costs about a microsecond; memory that is not mapped, or not with the
/// rights it takes, is an error of the call and no signal.
///
/// An atomic takes one instruction, for which the memory must be there: its page is made present
/// and writable, and until the instruction is done every thread that would unmap memory waits at
/// the gate. What no call of the application's own announces (the end of a file cut off by another
/// process) is not waited for.
GuardedAccess guarded_access();

/// Whether this kernel, and what filters its system calls here, allow them.
bool guarded_access_works();

}  // namespace urxe
