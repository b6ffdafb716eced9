// SPDX-License-Identifier: BSD-2-Clause
// Makes sockets seem full, because the kernel's are never full on loopback interfaces and veth. It
// replaces functions of the C library by which engines send (packet/host/uncancelled.h), so only
// one file of a program may include it.
#pragma once

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdarg>

namespace urxe::test {

/// Returns how many of `count` messages the socket takes now; if none, it sets errno. Null: every
/// socket takes all.
inline unsigned (*take_room)(int fd, unsigned count) = nullptr;

}  // namespace urxe::test

extern "C" long syscall(long number, ...) noexcept {
  using Call = long (*)(long, long, long, long, long, long, long);
  static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  long a[6];
  va_list list;
  va_start(list, number);
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const auto room = [&](long count) -> long {
    if (urxe::test::take_room == nullptr) return count;
    return urxe::test::take_room(static_cast<int>(a[0]), static_cast<unsigned>(count));
  };
  if (number == SYS_sendmmsg) {
    a[2] = room(a[2]);
    if (a[2] == 0) return -1;
  } else if (number == SYS_sendto || number == SYS_sendmsg) {
    if (room(1) == 0) return -1;
  }
  return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#ifdef __SANITIZE_THREAD__  // Then engines call these.
extern "C" ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                          socklen_t to_size) {
  return syscall(SYS_sendto, long{fd}, data, size, long{flags}, to, static_cast<long>(to_size));
}
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return syscall(SYS_sendmsg, long{fd}, message, long{flags});
}
extern "C" int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return static_cast<int>(
      syscall(SYS_sendmmsg, long{fd}, messages, static_cast<long>(count), long{flags}));
}
#endif
