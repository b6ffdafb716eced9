// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace urxe {

/// What the kernel says of a process (proc(5), /proc/PID/stat).
struct ProcessState {
  char state = '?';      ///< R running, S sleeping, T stopped, t stopped by a debugger, Z ended
  uint64_t started = 0;  ///< in clock ticks since the host has started: tells apart two that have
                         ///< the same process ID one after the other
};

/// nullopt: there is no such process, or it is hidden.
std::optional<ProcessState> read_process_state(uint32_t pid);

/// A number of the calling process's network namespace; 0: it is not known. An inode would be
/// another namespace's when this one is gone, so that is only for kernels that have no cookies.
uint64_t own_network_namespace();

/// The inode of the calling process's PID namespace; 0: it is not known. It is another namespace's
/// when this one is gone.
uint64_t own_pid_namespace();

}  // namespace urxe
