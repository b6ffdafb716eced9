// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/unix_name.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace urxe {

UnixName abstract_name(const char* pattern, ...) {
  UnixName name;
  name.address.sun_family = AF_UNIX;
  // Begins with a null byte, and has no end but its length.
  char* const text = name.address.sun_path + 1;
  constexpr size_t kRoom = sizeof name.address.sun_path - 1;
  va_list arguments;
  va_start(arguments, pattern);
  const int length = std::vsnprintf(text, kRoom, pattern, arguments);
  va_end(arguments);
  const size_t used = std::min(static_cast<size_t>(std::max(length, 0)), kRoom - 1);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + used);
  return name;
}

Expected<FileDescriptor, Errno> open_unix_socket() {
  FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return error(errno);
  return fd;
}

Expected<FileDescriptor, Errno> open_named_socket(const UnixName& name) {
  auto fd = open_unix_socket();
  if (fd && bind(fd->get(), name.get(), name.size) != 0) return error(errno);
  return fd;
}

}  // namespace urxe
