// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/directory/sharing_directory.h"

namespace urxe {

/// The identity of a process that holds entries of a HolderTable: a random number, unique for all
/// practical purposes, and a lock of the byte that stands for it (holder_lock()). The holder is
/// alive as long as the lock is there; when the process dies, the kernel frees it. The child of a
/// fork() must close its copy.
struct Holder {
  uint64_t number = 0;  ///< 0: no holder
  FileDescriptor lock;
};

/// EMFILE, ENFILE, ENOMEM, ENOLCK.
Expected<Holder, Errno> make_holder(const SharingDirectory& directory);

bool is_alive(const SharingDirectory& directory, uint64_t holder);

}  // namespace urxe
