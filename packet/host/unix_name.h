// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The address of a unix socket in the abstract namespace (unix(7)). A name belongs to a network
/// namespace, not to a file system, and is free as soon as the last socket that is bound to it is
/// closed, however its process ended.
struct UnixName {
  sockaddr_un address{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

/// The abstract name with the text that printf(3) makes of the arguments, up to 106 characters.
[[gnu::format(printf, 1, 2)]] UnixName abstract_name(const char* pattern, ...);

/// A datagram socket that has no name yet: nonblocking, SO_PASSCRED set. EMFILE, ENFILE, ENOMEM.
Expected<FileDescriptor, Errno> open_unix_socket();

/// As open_unix_socket(), bound to `name`. EADDRINUSE: another socket is.
Expected<FileDescriptor, Errno> open_named_socket(const UnixName& name);

}  // namespace urxe
