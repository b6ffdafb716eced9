// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "packet/base/expected.h"
#include "provider/cm/commands/command_table.h"
#include "provider/cm/files/open_files.h"

namespace urxe::cm {

/// Where commands come from and go to.
struct Dispatcher {
  const CommandTable& commands;
  OpenFiles& files;
};

/// Carries out what the application writes to the descriptor `fd` of a file: a rdma_ucm_cmd_hdr and
/// the command of <rdma/rdma_user_cm.h> (ABI version 4), as the kernel's ucma does.
///
/// The result is what write(2) returns. Nullopt: no event waits, which the command is for; to be
/// tried again after CmFile::wait(). EINVAL: an unknown command, one shorter than it should be, or
/// with arguments that make no sense; ENOSYS: a command or option that the kernel knows, but does
/// not carry out; ENOSPC: no room for the response; EFAULT: addresses; ENODEV: not a file of this
/// process; others are the commands' own. Blocks for nothing but locks. Thread-safe. Throws
/// std::bad_alloc.
std::optional<Expected<size_t, Errno>> try_command(const Dispatcher& dispatcher, int fd,
                                                   const void* buffer, size_t length);

}  // namespace urxe::cm
