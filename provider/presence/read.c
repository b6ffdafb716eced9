// SPDX-License-Identifier: BSD-2-Clause
/// read() of completion channels. A thread that waits in ibv_get_cq_event(3) waits in read(): the
/// provider has it drive the device until there is something to read. Also of umad's files, which
/// are sockets: a datagram that the caller has no room for must stay. And of counter files, which
/// show the value of the moment.
#include "provider/presence/read.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "provider/presence/counters.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/mad_files.h"
#include "provider/presence/next.h"

static _Atomic(urxe_read_hook) read_hook;
static struct urxe_fd_set watched;  ///< completion channels, umad files and counter files

void urxe_set_read_hook(urxe_read_hook hook) {
  atomic_store(&read_hook, hook);
}

void urxe_watch_reads(int fd) {
  urxe_fd_set_add(&watched, fd);
}

/// False, and errno is set: it has none.
static bool has_room_for_mad(int fd, size_t length) {
  if (length >= urxe_least_read_of_mad_file(fd)) return true;
  errno = EINVAL;
  return false;
}

/// False: the read has failed, and errno is set.
static __attribute__((noinline)) bool prepare_read(int fd, size_t length) {
  if (urxe_fd_set_may_have(&urxe_mad_files, fd)) {
    if (urxe_is_mad_file(fd)) return has_room_for_mad(fd, length);
    urxe_fd_set_remove(&urxe_mad_files, fd);
  }
  if (urxe_fd_set_may_have(&urxe_counters, fd) && urxe_renew_counter(fd, -1)) return true;
  urxe_read_hook hook = atomic_load(&read_hook);
  if (hook == NULL) return true;
  int outcome = hook(fd);
  if (outcome > 0) urxe_fd_set_remove(&watched, fd);
  return outcome >= 0;
}

static inline bool may_read(int fd, size_t length) {
  return URXE_LIKELY(!urxe_fd_set_may_have(&watched, fd)) || prepare_read(fd, length);
}

/// The result of a read() that got `got` bytes. The end of a umad file means that its device is
/// gone.
static inline ssize_t after_read(int fd, ssize_t got) {
  if (URXE_LIKELY(got != 0 || !urxe_fd_set_may_have(&urxe_mad_files, fd))) return got;
  if (!urxe_is_mad_file(fd)) return got;
  errno = EIO;
  return -1;
}

URXE_EXPORT ssize_t read(int fd, void* buffer, size_t length) {
  return may_read(fd, length) ? after_read(fd, URXE_NEXT(read)(fd, buffer, length)) : -1;
}

URXE_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t length, size_t buffer_size) {
  if (!may_read(fd, length)) return -1;
  return after_read(fd, URXE_NEXT(__read_chk)(fd, buffer, length, buffer_size));
}

static inline void before_pread(int fd, off_t at) {
  if (URXE_UNLIKELY(urxe_fd_set_may_have(&urxe_counters, fd))) (void)urxe_renew_counter(fd, at);
}

URXE_EXPORT ssize_t pread(int fd, void* buffer, size_t length, off_t at) {
  before_pread(fd, at);
  return URXE_NEXT(pread)(fd, buffer, length, at);
}

URXE_EXPORT ssize_t pread64(int fd, void* buffer, size_t length, off64_t at) {
  before_pread(fd, at);
  return URXE_NEXT(pread64)(fd, buffer, length, at);
}

URXE_EXPORT ssize_t __pread_chk(int fd, void* buffer, size_t length, off_t at, size_t buffer_size) {
  before_pread(fd, at);
  return URXE_NEXT(__pread_chk)(fd, buffer, length, at, buffer_size);
}

URXE_EXPORT ssize_t __pread64_chk(int fd, void* buffer, size_t length, off64_t at,
                                  size_t buffer_size) {
  before_pread(fd, at);
  return URXE_NEXT(__pread64_chk)(fd, buffer, length, at, buffer_size);
}
