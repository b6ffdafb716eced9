// SPDX-License-Identifier: BSD-2-Clause
/// open() and its kin.
#include <errno.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "provider/presence/cm_files.h"
#include "provider/presence/counters.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/lack.h"
#include "provider/presence/mad_files.h"
#include "provider/presence/next.h"
#include "provider/presence/place.h"

static int open_node(const char* path, int flags, unsigned mode) {
  int fd = URXE_NEXT(open)(path, flags | URXE_NODE_FLAGS, mode);
  if (fd >= 0) urxe_fd_set_add(&urxe_nodes, fd);
  return fd;
}

/// A descriptor opened with O_PATH may be a directory's, by which counter files are opened later.
static int note_path(int fd) {
  if (fd >= 0) urxe_fd_set_add(&urxe_directories, fd);
  return fd;
}

/// Files of the tree can only be read, even by root, like most of sysfs.
static int open_in_tree(const char* path, int flags, unsigned mode) {
  if ((flags & O_PATH) != 0) return note_path(URXE_NEXT(open)(path, flags, mode));
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0) {
    errno = EACCES;
    return -1;
  }
  return urxe_finish_tree_open(URXE_NEXT(open)(path, flags, mode), flags);
}

static int open_target(const struct urxe_target* target, int flags, unsigned mode) {
  if (target->kind == URXE_NODE && (flags & O_PATH) == 0) {
    return open_node(target->path, flags, mode);
  }
  if (target->kind == URXE_CM_NODE) return urxe_open_cm_node(target->path, flags, mode);
  if (target->kind == URXE_MAD_NODE) {
    return urxe_open_mad_node(target->path, target->number, flags, mode);
  }
  if (target->kind == URXE_IN_TREE) return open_in_tree(target->path, flags, mode);
  return URXE_NEXT(open)(target->path, flags, mode);
}

static __attribute__((noinline)) int open_presented(const char* path, int flags, unsigned mode) {
  struct urxe_target target;
  urxe_translate(path, &target);
  int fd = open_target(&target, flags, mode);
  if (fd < 0 && target.kind != URXE_ELSEWHERE) urxe_report_lack(path);
  return fd;
}

/// A relative name of a file of the tree, for which there is no descriptor left.
static __attribute__((noinline)) int report_if_in_tree(int dirfd, const char* path) {
  if (urxe_fd_set_may_have(&urxe_directories, dirfd) && urxe_is_in_tree(dirfd)) {
    urxe_report_lack(path);
  }
  return -1;
}

/// Takes the result of libc's open() for a path that is not presented: a relative name may be that
/// of a counter file.
static inline int finish(int dirfd, const char* path, int fd, int flags) {
  if (URXE_UNLIKELY(fd < 0 && errno == EMFILE)) return report_if_in_tree(dirfd, path);
  const bool is_path = (flags & O_PATH) != 0;
  const bool may_be_counter = fd >= 0 && (is_path || (flags & O_ACCMODE) == O_RDONLY);
  if (!may_be_counter || !urxe_opened_in_tree(dirfd, path, fd)) return fd;
  return is_path ? note_path(fd) : urxe_finish_tree_open(fd, flags);
}

static unsigned mode_argument(int flags, va_list arguments) {
  bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, unsigned) : 0;
}

#define URXE_READ_MODE                             \
  va_list arguments;                               \
  va_start(arguments, flags);                      \
  unsigned mode = mode_argument(flags, arguments); \
  va_end(arguments)

URXE_EXPORT int open(const char* path, int flags, ...) {
  URXE_READ_MODE;
  if (urxe_is_elsewhere(path))
    return finish(AT_FDCWD, path, URXE_NEXT(open)(path, flags, mode), flags);
  return open_presented(path, flags, mode);
}

URXE_EXPORT int open64(const char* path, int flags, ...) {
  URXE_READ_MODE;
  if (urxe_is_elsewhere(path))
    return finish(AT_FDCWD, path, URXE_NEXT(open64)(path, flags, mode), flags);
  return open_presented(path, flags | O_LARGEFILE, mode);
}

URXE_EXPORT int openat(int dirfd, const char* path, int flags, ...) {
  URXE_READ_MODE;
  if (!urxe_is_elsewhere(path)) return open_presented(path, flags, mode);
  return finish(dirfd, path, URXE_NEXT(openat)(dirfd, path, flags, mode), flags);
}

URXE_EXPORT int openat64(int dirfd, const char* path, int flags, ...) {
  URXE_READ_MODE;
  if (!urxe_is_elsewhere(path)) return open_presented(path, flags | O_LARGEFILE, mode);
  return finish(dirfd, path, URXE_NEXT(openat64)(dirfd, path, flags, mode), flags);
}

/// glibc has it from 2.43 on. A program that looks for it by name finds this one with any glibc.
/// It does not look for libc's.
static int next_openat2(int dirfd, const char* path, const struct open_how* how, size_t size) {
  return (int)syscall(SYS_openat2, dirfd, path, how, size);
}

/// Whether open() can do the same. Limits to how a path is resolved are left to the kernel, which
/// finds nothing then.
static bool is_plain(const struct open_how* how) {
  return how->flags <= INT_MAX && (how->resolve & ~(uint64_t)RESOLVE_NO_MAGICLINKS) == 0;
}

/// The kernel reads `how` first, and then finds that there is no such file. EFAULT: it cannot be
/// read.
static bool is_readable(const struct open_how* how, size_t size) {
  return next_openat2(AT_FDCWD, "", how, size) >= 0 || errno != EFAULT;
}

URXE_EXPORT int openat2(int dirfd, const char* path, const struct open_how* how, size_t size) {
  if (size != sizeof(*how)) return next_openat2(dirfd, path, how, size);
  if (urxe_is_elsewhere(path)) {
    int fd = next_openat2(dirfd, path, how, size);
    return finish(dirfd, path, fd, fd < 0 ? 0 : (int)how->flags);
  }
  if (!is_readable(how, size)) return -1;
  if (!is_plain(how))
    return finish(dirfd, path, next_openat2(dirfd, path, how, size), (int)how->flags);
  return open_presented(path, (int)how->flags, (unsigned)how->mode);
}

// What _FORTIFY_SOURCE turns an open() with two arguments into. Flags that need a mode make libc
// abort the program; that is left to libc.

URXE_EXPORT int __open_2(const char* path, int flags) {
  if (urxe_is_elsewhere(path))
    return finish(AT_FDCWD, path, URXE_NEXT(__open_2)(path, flags), flags);
  return open_presented(path, flags, 0);
}

URXE_EXPORT int __open64_2(const char* path, int flags) {
  if (urxe_is_elsewhere(path))
    return finish(AT_FDCWD, path, URXE_NEXT(__open64_2)(path, flags), flags);
  return open_presented(path, flags | O_LARGEFILE, 0);
}

URXE_EXPORT int __openat_2(int dirfd, const char* path, int flags) {
  if (!urxe_is_elsewhere(path)) return open_presented(path, flags, 0);
  return finish(dirfd, path, URXE_NEXT(__openat_2)(dirfd, path, flags), flags);
}

URXE_EXPORT int __openat64_2(int dirfd, const char* path, int flags) {
  if (!urxe_is_elsewhere(path)) return open_presented(path, flags | O_LARGEFILE, 0);
  return finish(dirfd, path, URXE_NEXT(__openat64_2)(dirfd, path, flags), flags);
}
