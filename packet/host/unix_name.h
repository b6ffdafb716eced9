// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string_view>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The address of a unix socket that is bound to a file (unix(7)). The file outlives the socket; to
/// send to it then fails with ECONNREFUSED.
struct UnixName {
  sockaddr_un address{};
  socklen_t size = 0;
  int directory = -1;  ///< the file's directory, open; for by_descriptor()
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  [[nodiscard]] std::string_view path() const { return address.sun_path; }
};

/// The socket `file`, up to 80 characters, in the open directory `directory`, whose path is `path`.
/// If the path is empty or too long for an address, the name goes by the descriptor.
UnixName socket_name(int directory, std::string_view path, std::string_view file);

/// The same socket by way of /proc and the descriptor of its directory. Slower, but asks for no
/// right to the directories above it: for a process that has changed its user.
UnixName by_descriptor(const UnixName& name);

/// Whether the socket's file is in its directory. Also right after chroot(2).
bool has_file(const UnixName& name);

/// A nonblocking datagram socket that has no name yet. EMFILE, ENFILE, ENOMEM.
Expected<FileDescriptor, Errno> open_unix_socket();

/// As open_unix_socket(), bound to `name`, whose file is made anew and may be sent to by everybody
/// who can reach it. The caller sees to it that no living socket has the name. Errors as bind(2).
Expected<FileDescriptor, Errno> open_named_socket(const UnixName& name);
/// As open_named_socket(), but the socket listens for connections that keep messages apart
/// (SOCK_SEQPACKET), of which `backlog` may wait to be accepted.
Expected<FileDescriptor, Errno> open_listening_socket(const UnixName& name, int backlog);
/// A nonblocking socket that is connected to the one that listens at `name`. Never blocks. ENOENT,
/// ECONNREFUSED: nobody listens; EAGAIN: too many connections wait there.
Expected<FileDescriptor, Errno> connect_to_socket(const UnixName& name);

}  // namespace urxe
