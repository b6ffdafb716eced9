// SPDX-License-Identifier: BSD-2-Clause
/// The calls that only need another name for the file: stat(), access(), readlink() and the like.
#include "provider/presence/next.h"
#include "provider/presence/place.h"

// Defines `name`, which has a parameter `path`. The translated name takes a page of the stack, so
// it has a function of its own: a call about any other file keeps its small frame, because signal
// handlers may run on small stacks. `same` are the arguments as they came, `other` those with
// `presented` instead of `path`.
#define URXE_NAME_CALL(type, name, parameters, same, other)                        \
  static __attribute__((noinline)) type presented_##name parameters {              \
    struct urxe_target target;                                                     \
    const char* presented = urxe_translate(path, &target);                         \
    return URXE_NEXT(name) other;                                                  \
  }                                                                                \
  URXE_EXPORT type name parameters {                                               \
    return urxe_is_elsewhere(path) ? URXE_NEXT(name) same : presented_##name same; \
  }

URXE_NAME_CALL(int, stat, (const char* path, struct stat* out), (path, out), (presented, out))
URXE_NAME_CALL(int, stat64, (const char* path, struct stat64* out), (path, out), (presented, out))
URXE_NAME_CALL(int, lstat, (const char* path, struct stat* out), (path, out), (presented, out))
URXE_NAME_CALL(int, lstat64, (const char* path, struct stat64* out), (path, out), (presented, out))

// Programs linked with glibc before 2.33 call these for stat() and the like.
URXE_NAME_CALL(int, __xstat, (int version, const char* path, struct stat* out),
               (version, path, out), (version, presented, out))
URXE_NAME_CALL(int, __xstat64, (int version, const char* path, struct stat64* out),
               (version, path, out), (version, presented, out))
URXE_NAME_CALL(int, __lxstat, (int version, const char* path, struct stat* out),
               (version, path, out), (version, presented, out))
URXE_NAME_CALL(int, __lxstat64, (int version, const char* path, struct stat64* out),
               (version, path, out), (version, presented, out))

URXE_NAME_CALL(int, access, (const char* path, int mode), (path, mode), (presented, mode))
URXE_NAME_CALL(int, eaccess, (const char* path, int mode), (path, mode), (presented, mode))
URXE_NAME_CALL(int, euidaccess, (const char* path, int mode), (path, mode), (presented, mode))
URXE_NAME_CALL(int, faccessat, (int dirfd, const char* path, int mode, int flags),
               (dirfd, path, mode, flags), (dirfd, presented, mode, flags))

URXE_NAME_CALL(ssize_t, readlink, (const char* path, char* buffer, size_t length),
               (path, buffer, length), (presented, buffer, length))
URXE_NAME_CALL(ssize_t, readlinkat, (int dirfd, const char* path, char* buffer, size_t length),
               (dirfd, path, buffer, length), (dirfd, presented, buffer, length))
URXE_NAME_CALL(ssize_t, __readlink_chk,
               (const char* path, char* buffer, size_t length, size_t buffer_size),
               (path, buffer, length, buffer_size), (presented, buffer, length, buffer_size))
URXE_NAME_CALL(ssize_t, __readlinkat_chk,
               (int dirfd, const char* path, char* buffer, size_t length, size_t buffer_size),
               (dirfd, path, buffer, length, buffer_size),
               (dirfd, presented, buffer, length, buffer_size))

URXE_NAME_CALL(int, statfs, (const char* path, struct statfs* out), (path, out), (presented, out))
URXE_NAME_CALL(int, statfs64, (const char* path, struct statfs64* out), (path, out),
               (presented, out))
URXE_NAME_CALL(int, statvfs, (const char* path, struct statvfs* out), (path, out), (presented, out))
URXE_NAME_CALL(int, statvfs64, (const char* path, struct statvfs64* out), (path, out),
               (presented, out))

// `ls -l` calls these, and complains if the file does not exist.
URXE_NAME_CALL(ssize_t, getxattr, (const char* path, const char* name, void* value, size_t size),
               (path, name, value, size), (presented, name, value, size))
URXE_NAME_CALL(ssize_t, lgetxattr, (const char* path, const char* name, void* value, size_t size),
               (path, name, value, size), (presented, name, value, size))
URXE_NAME_CALL(ssize_t, listxattr, (const char* path, char* list, size_t size), (path, list, size),
               (presented, list, size))
URXE_NAME_CALL(ssize_t, llistxattr, (const char* path, char* list, size_t size), (path, list, size),
               (presented, list, size))

typedef int (*filter_function)(const struct dirent*);
typedef int (*filter64_function)(const struct dirent64*);
typedef int (*order_function)(const struct dirent**, const struct dirent**);
typedef int (*order64_function)(const struct dirent64**, const struct dirent64**);

// libc's scandir() calls libc's own opendir(), which is not intercepted.
URXE_NAME_CALL(int, scandir,
               (const char* path, struct dirent*** list, filter_function filter,
                order_function order),
               (path, list, filter, order), (presented, list, filter, order))
URXE_NAME_CALL(int, scandir64,
               (const char* path, struct dirent64*** list, filter64_function filter,
                order64_function order),
               (path, list, filter, order), (presented, list, filter, order))
URXE_NAME_CALL(int, scandirat,
               (int dirfd, const char* path, struct dirent*** list, filter_function filter,
                order_function order),
               (dirfd, path, list, filter, order), (dirfd, presented, list, filter, order))
URXE_NAME_CALL(int, scandirat64,
               (int dirfd, const char* path, struct dirent64*** list, filter64_function filter,
                order64_function order),
               (dirfd, path, list, filter, order), (dirfd, presented, list, filter, order))
