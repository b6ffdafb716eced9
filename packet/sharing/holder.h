// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/unix_name.h"

namespace urxe {

/// The identity of a process that holds entries of a HolderTable: a random number, unique for all
/// practical purposes, and a unix datagram socket that is bound to holder_name() of it. The holder
/// is alive as long as the socket is open; when the process dies, the kernel closes it. The child
/// of a fork() must close its copy.
struct Holder {
  uint64_t number = 0;    ///< 0: no holder
  FileDescriptor socket;  ///< nonblocking, SO_PASSCRED set
};

UnixName holder_name(uint64_t number);

/// Makes a holder in the calling thread's network namespace. EMFILE, ENFILE, ENOMEM.
Expected<Holder, Errno> make_holder();

}  // namespace urxe
