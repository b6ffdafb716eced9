// SPDX-License-Identifier: BSD-2-Clause
/// dup() and its kin: adds copies of descriptors in a set to the set.
#include <stdarg.h>

#include "provider/presence/counters.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/next.h"

/// `copy` is the result of duplicating `fd`.
static inline int note_copy(int fd, int copy) {
  if (URXE_UNLIKELY(urxe_fd_set_may_have(&urxe_nodes, fd)) && copy >= 0) {
    urxe_fd_set_add(&urxe_nodes, copy);
  }
  if (URXE_UNLIKELY(urxe_fd_set_may_have(&urxe_directories, fd)) && copy >= 0) {
    urxe_fd_set_add(&urxe_directories, copy);
  }
  if (URXE_UNLIKELY(urxe_fd_set_may_have(&urxe_counters, fd)) && copy >= 0) urxe_note_counter(copy);
  return copy;
}

URXE_EXPORT int dup(int fd) {
  return note_copy(fd, URXE_NEXT(dup)(fd));
}

URXE_EXPORT int dup2(int fd, int copy) {
  return note_copy(fd, URXE_NEXT(dup2)(fd, copy));
}

URXE_EXPORT int dup3(int fd, int copy, int flags) {
  return note_copy(fd, URXE_NEXT(dup3)(fd, copy, flags));
}

static inline int note_command(int fd, int command, int result) {
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? note_copy(fd, result) : result;
}

// The argument, if there is one, is an int or a pointer; libc itself reads it so.
#define URXE_READ_ARGUMENT                   \
  va_list arguments;                         \
  va_start(arguments, command);              \
  void* argument = va_arg(arguments, void*); \
  va_end(arguments)

URXE_EXPORT int fcntl(int fd, int command, ...) {
  URXE_READ_ARGUMENT;
  return note_command(fd, command, URXE_NEXT(fcntl)(fd, command, argument));
}

URXE_EXPORT int fcntl64(int fd, int command, ...) {
  URXE_READ_ARGUMENT;
  return note_command(fd, command, URXE_NEXT(fcntl64)(fd, command, argument));
}
