// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The functions of libc that this object intercepts, and the state that is set up once per
/// process.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define URXE_EXPORT __attribute__((visibility("default")))
/// Put before the definition of urxe_versioned_NAME(). Exports it as NAME, but only in libc's
/// version of that name, and not as the default version (memory.c says why).
#ifdef URXE_LIBC_VERSION
#define URXE_VERSIONED(name)                                                \
  __asm__(".symver urxe_versioned_" #name "," #name "@" URXE_LIBC_VERSION); \
  URXE_EXPORT
#else  // of a machine whose libc's first version is not known here
#define URXE_VERSIONED(name)                                         \
  __asm__(".globl " #name "\n.set " #name ",urxe_versioned_" #name); \
  URXE_EXPORT
#endif
#define URXE_LIKELY(x) __builtin_expect(!!(x), 1)
#define URXE_UNLIKELY(x) __builtin_expect(!!(x), 0)

/// Of glibc 2.43.
struct open_how;
int openat2(int dirfd, const char* path, const struct open_how* how, size_t size);

// Exported by libc, but declared only for the checking macros of _FORTIFY_SOURCE, or no longer.
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int dirfd, const char* path, int flags);
int __openat64_2(int dirfd, const char* path, int flags);
ssize_t __read_chk(int fd, void* buffer, size_t length, size_t buffer_size);
ssize_t __pread_chk(int fd, void* buffer, size_t length, off_t at, size_t buffer_size);
ssize_t __pread64_chk(int fd, void* buffer, size_t length, off64_t at, size_t buffer_size);
ssize_t __readlink_chk(const char* path, char* buffer, size_t length, size_t buffer_size);
ssize_t __readlinkat_chk(int dirfd, const char* path, char* buffer, size_t length,
                         size_t buffer_size);
char* __realpath_chk(const char* path, char* resolved, size_t resolved_size);
int __xstat(int version, const char* path, struct stat* out);
int __xstat64(int version, const char* path, struct stat64* out);
int __lxstat(int version, const char* path, struct stat* out);
int __lxstat64(int version, const char* path, struct stat64* out);
int __fxstat(int version, int fd, struct stat* out);
int __fxstat64(int version, int fd, struct stat64* out);
int __fxstatat(int version, int dirfd, const char* path, struct stat* out, int flags);
int __fxstatat64(int version, int dirfd, const char* path, struct stat64* out, int flags);

// Only what all of GNU's libcs from 2.31 on have: a search in vain allocates memory, and an
// allocator may be the first to call one of these. The formatter's opinion of this list changes
// from run to run.
// clang-format off
#define URXE_NEXT_FUNCTIONS(X)                                                              \
  X(open) X(open64) X(openat) X(openat64) X(__open_2) X(__open64_2) X(__openat_2)           \
  X(__openat64_2) X(fopen) X(fopen64) X(freopen) X(freopen64) X(opendir) X(scandir)         \
  X(scandir64) X(scandirat) X(scandirat64) X(stat) X(stat64) X(lstat) X(lstat64) X(fstatat) \
  X(fstatat64) X(statx) X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64) X(__fxstatat)     \
  X(__fxstatat64) X(access) X(faccessat) X(eaccess) X(euidaccess) X(readlink) X(readlinkat) \
  X(__readlink_chk) X(__readlinkat_chk) X(realpath) X(__realpath_chk)                       \
  X(canonicalize_file_name) X(chdir) X(fchdir) X(statfs) X(statfs64) X(statvfs) X(statvfs64)          \
  X(getxattr) X(lgetxattr) X(listxattr) X(llistxattr) X(read) X(__read_chk) X(pread) X(pread64) X(__pread_chk) X(__pread64_chk) X(write) X(writev) X(socket) \
  X(send) X(sendto) X(sendmsg)                                                              \
  X(fstat) X(fstat64) X(__fxstat) X(__fxstat64) X(dup) X(dup2) X(dup3) X(fcntl) X(fcntl64) X(ioctl) \
  X(munmap) X(mremap) X(mmap) X(mmap64) X(mprotect) X(pkey_mprotect) X(shmdt) X(shmat) X(remap_file_pages) X(brk) X(sbrk) X(madvise) X(dlclose)
// clang-format on

struct urxe_next {
  _Atomic(bool) ready;
#define URXE_MEMBER(name) __typeof__(name)* name##_function;
  URXE_NEXT_FUNCTIONS(URXE_MEMBER)
#undef URXE_MEMBER
};
extern struct urxe_next urxe_next;

/// Finds the intercepted functions, and reads the environment once libc has one. Idempotent. Called
/// by the constructor, or earlier by the first intercepted call.
void urxe_set_up(void);

/// The function of that name in the libraries after this one.
#define URXE_NEXT(name)                                                                       \
  (URXE_LIKELY(atomic_load_explicit(&urxe_next.ready, memory_order_acquire)) ? (void)0        \
                                                                             : urxe_set_up(), \
   urxe_next.name##_function)

/// The absolute path of the tree that `urxe run` has written; empty if there is none.
extern char urxe_tree[];
extern size_t urxe_tree_length;

/// The longest path of a tree. Leaves room for the longest path inside it.
enum { URXE_LONGEST_TREE = PATH_MAX / 2 };

/// The tree is open as `fd`, for as long as the process exists.
void urxe_hold_tree(int fd);
/// Writes a path by which the tree can be reached now, without a terminating zero. Returns its
/// length.
size_t urxe_reach_tree(char out[URXE_LONGEST_TREE]);
