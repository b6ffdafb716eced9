// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/stat.h>

/// The functions that stat() and its kin were in programs that were linked with glibc before 2.33.
int __xstat(int version, const char* path, struct stat* out);
int __xstat64(int version, const char* path, struct stat64* out);
int __lxstat(int version, const char* path, struct stat* out);
int __lxstat64(int version, const char* path, struct stat64* out);
int __fxstat(int version, int fd, struct stat* out);
int __fxstat64(int version, int fd, struct stat64* out);
int __fxstatat(int version, int dirfd, const char* path, struct stat* out, int flags);
int __fxstatat64(int version, int dirfd, const char* path, struct stat64* out, int flags);

/// The version of struct stat.
#if defined(__x86_64__)
enum { kStatusVersion = 1 };
#else
enum { kStatusVersion = 0 };
#endif
