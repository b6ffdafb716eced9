// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holder.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace urxe {
namespace {

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) << 32 | static_cast<uint32_t>(getpid());
}

}  // namespace

UnixName holder_name(uint64_t number) {
  UnixName name;
  name.address.sun_family = AF_UNIX;
  // Abstract: begins with a null byte and has no end but its length.
  // Not the user's, as other names are: a process that becomes another user's holds what it held.
  const int length = std::snprintf(name.address.sun_path + 1, sizeof name.address.sun_path - 1,
                                   "urxe/holder/%016llx", static_cast<unsigned long long>(number));
  name.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1U + static_cast<unsigned>(length));
  return name;
}

Expected<FileDescriptor, Errno> open_named_socket(const UnixName& name) {
  FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return error(errno);
  if (bind(fd.get(), name.get(), name.size) != 0) return error(errno);
  return fd;
}

Expected<Holder, Errno> make_holder() {
  for (;;) {
    const uint64_t number = random_number();
    if (number == 0) continue;
    auto socket = open_named_socket(holder_name(number));
    if (socket) return Holder{number, *std::move(socket)};
    if (socket.error().value != EADDRINUSE) return Unexpected<Errno>(socket.error());
  }
}

}  // namespace urxe
