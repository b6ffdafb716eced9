// SPDX-License-Identifier: BSD-2-Clause
/// fstat() and its kin. The files of rdma_cm and umad are sockets, but librdmacm and other programs
/// expect the device node that they have opened. Also fstatat() and its kin, which take a name or
/// mean an open file.
#include "provider/presence/cm_files.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/mad_files.h"
#include "provider/presence/next.h"
#include "provider/presence/place.h"

static const char kStandIn[] = "/dev/null";

static inline bool is_shown_as_node(int fd) {
  return URXE_UNLIKELY(urxe_fd_set_may_have(&urxe_nodes, fd)) &&
         (urxe_is_cm_file(fd) || urxe_is_mad_file(fd));
}

// Defines `name`, which has a parameter `fd`. `same` are the arguments as they came, `other` those
// of the call `other_name` about the node.
#define URXE_STATUS_CALL(name, parameters, same, other_name, other) \
  URXE_EXPORT int name parameters {                                 \
    if (is_shown_as_node(fd)) return URXE_NEXT(other_name) other;   \
    return URXE_NEXT(name) same;                                    \
  }

URXE_STATUS_CALL(fstat, (int fd, struct stat* out), (fd, out), stat, (kStandIn, out))
URXE_STATUS_CALL(fstat64, (int fd, struct stat64* out), (fd, out), stat64, (kStandIn, out))
// Programs linked with glibc before 2.33 call these.
URXE_STATUS_CALL(__fxstat, (int version, int fd, struct stat* out), (version, fd, out), __xstat,
                 (version, kStandIn, out))
URXE_STATUS_CALL(__fxstat64, (int version, int fd, struct stat64* out), (version, fd, out),
                 __xstat64, (version, kStandIn, out))

/// Whether the arguments mean such an open file itself (AT_EMPTY_PATH).
static inline bool means_such_file(int dirfd, const char* path, int flags) {
  if (URXE_LIKELY((flags & AT_EMPTY_PATH) == 0)) return false;
  bool is_empty = path == NULL || (urxe_may_be_readable(path) && path[0] == '\0');
  return is_empty && is_shown_as_node(dirfd);
}

// Defines `name`, which has parameters `dirfd`, `path` and `flags`. `same` are the arguments as
// they came, `other` those with `presented` instead of `path`. The translated name takes a page of
// the stack: see names.c.
#define URXE_STATUS_AT_CALL(name, parameters, same, other)                         \
  static __attribute__((noinline)) int presented_##name parameters {               \
    struct urxe_target target;                                                     \
    const char* presented = urxe_translate(path, &target);                         \
    return URXE_NEXT(name) other;                                                  \
  }                                                                                \
  URXE_EXPORT int name parameters {                                                \
    if (means_such_file(dirfd, path, flags)) path = kStandIn;                      \
    return urxe_is_elsewhere(path) ? URXE_NEXT(name) same : presented_##name same; \
  }

URXE_STATUS_AT_CALL(fstatat, (int dirfd, const char* path, struct stat* out, int flags),
                    (dirfd, path, out, flags), (dirfd, presented, out, flags))
URXE_STATUS_AT_CALL(fstatat64, (int dirfd, const char* path, struct stat64* out, int flags),
                    (dirfd, path, out, flags), (dirfd, presented, out, flags))
URXE_STATUS_AT_CALL(statx,
                    (int dirfd, const char* path, int flags, unsigned mask, struct statx* out),
                    (dirfd, path, flags, mask, out), (dirfd, presented, flags, mask, out))
URXE_STATUS_AT_CALL(__fxstatat,
                    (int version, int dirfd, const char* path, struct stat* out, int flags),
                    (version, dirfd, path, out, flags), (version, dirfd, presented, out, flags))
URXE_STATUS_AT_CALL(__fxstatat64,
                    (int version, int dirfd, const char* path, struct stat64* out, int flags),
                    (version, dirfd, path, out, flags), (version, dirfd, presented, out, flags))
