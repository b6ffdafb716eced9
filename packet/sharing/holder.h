// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/unix_name.h"

namespace urxe {

/// Who holds something, for others to name: a number that nobody else has had or will have, and a
/// unix datagram socket that bears its name. The holder lives as long as the socket is open:
/// however its process dies, the kernel closes it. The child of a fork() must close its copy.
struct Holder {
  uint64_t number = 0;    ///< 0: nobody
  FileDescriptor socket;  ///< nonblocking, SO_PASSCRED set
};

UnixName holder_name(uint64_t number);

/// A holder in the calling thread's network namespace. EMFILE, ENFILE, ENOMEM.
Expected<Holder, Errno> make_holder();

}  // namespace urxe
