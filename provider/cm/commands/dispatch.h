// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "packet/base/expected.h"
#include "provider/cm/commands/command_table.h"
#include "provider/cm/files/open_files.h"

namespace urxe::cm {

/// The files that commands are written to, and the calls that carry them out.
struct Dispatcher {
  const CommandTable& commands;
  OpenFiles& files;
};

/// Carries out a command that the application writes to the descriptor `fd` of a file, as the
/// kernel's ucma does: a rdma_ucm_cmd_hdr and a command of <rdma/rdma_user_cm.h>, ABI version 4.
///
/// Returns the result of write(2). Nullopt: the command asks for an event and none waits; try again
/// after CmFile::wait(). EINVAL: an unknown command, one that is too short, or wrong arguments;
/// ENOSYS: a command or option that the kernel knows but does not implement; ENOSPC: no room for
/// the response; EFAULT; EBADF, ENODEV: as OpenFiles::find(); other errors are the commands' own.
/// Blocks only for locks. Thread-safe. Throws std::bad_alloc.
std::optional<Expected<size_t, Errno>> try_command(const Dispatcher& dispatcher, int fd,
                                                   const void* buffer, size_t length);

}  // namespace urxe::cm
