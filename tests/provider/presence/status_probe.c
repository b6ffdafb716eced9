// SPDX-License-Identifier: BSD-2-Clause
/// What programs that were linked with glibc before 2.33 see of a device: their stat() is one of
/// the functions below. The argument is the device. Exits with 0, or says which expectation failed.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/provider/presence/old_status.h"
#include "tests/provider/presence/probe.h"

static struct stat status;
static struct stat64 status64;

/// `path` is of type `type`, and is `itself` where links are not followed.
static void check_path(const char* path, mode_t type, mode_t itself) {
  EXPECT(__xstat(kStatusVersion, path, &status) == 0 && (status.st_mode & S_IFMT) == type);
  EXPECT(__xstat64(kStatusVersion, path, &status64) == 0 && (status64.st_mode & S_IFMT) == type);
  EXPECT(__lxstat(kStatusVersion, path, &status) == 0 && (status.st_mode & S_IFMT) == itself);
  EXPECT(__lxstat64(kStatusVersion, path, &status64) == 0 && (status64.st_mode & S_IFMT) == itself);
  EXPECT(__fxstatat(kStatusVersion, AT_FDCWD, path, &status, 0) == 0);
  EXPECT((status.st_mode & S_IFMT) == type);
  EXPECT(__fxstatat64(kStatusVersion, -1, path, &status64, 0) == 0);
  EXPECT((status64.st_mode & S_IFMT) == type);
  EXPECT(__fxstatat(kStatusVersion, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0);
  EXPECT((status.st_mode & S_IFMT) == itself);
  EXPECT(__fxstatat64(kStatusVersion, -1, path, &status64, AT_SYMLINK_NOFOLLOW) == 0);
  EXPECT((status64.st_mode & S_IFMT) == itself);
}

static void check_missing(const char* path) {
  EXPECT(__xstat(kStatusVersion, path, &status) == -1 && errno == ENOENT);
  EXPECT(__xstat64(kStatusVersion, path, &status64) == -1 && errno == ENOENT);
  EXPECT(__lxstat(kStatusVersion, path, &status) == -1 && errno == ENOENT);
  EXPECT(__lxstat64(kStatusVersion, path, &status64) == -1 && errno == ENOENT);
  EXPECT(__fxstatat(kStatusVersion, AT_FDCWD, path, &status, 0) == -1 && errno == ENOENT);
  EXPECT(__fxstatat64(kStatusVersion, AT_FDCWD, path, &status64, 0) == -1 && errno == ENOENT);
}

static void check_open_file(const char* path, mode_t type) {
  int fd = open(path, O_RDONLY);
  EXPECT(fd >= 0);
  EXPECT(__fxstat(kStatusVersion, fd, &status) == 0 && (status.st_mode & S_IFMT) == type);
  EXPECT(__fxstat64(kStatusVersion, fd, &status64) == 0 && (status64.st_mode & S_IFMT) == type);
  close(fd);
}

/// Below an open directory, as opendir() and readdir() lead there.
static void check_relative(const char* device) {
  int fd = open(device, O_RDONLY | O_DIRECTORY);
  EXPECT(fd >= 0 && __fxstatat(kStatusVersion, fd, "node_type", &status, 0) == 0);
  EXPECT(S_ISREG(status.st_mode));
  EXPECT(__fxstatat64(kStatusVersion, fd, "ports/1", &status64, 0) == 0 &&
         S_ISDIR(status64.st_mode));
  close(fd);
}

/// The defect: a name whose address has a tag was not looked at.
static void check_tagged_name(void) {
#if defined(__aarch64__)
  const char* name = (const char*)((uintptr_t) "/sys/class/infiniband" | (uintptr_t)0xf0 << 56);
  EXPECT(stat(name, &status) == 0 && S_ISDIR(status.st_mode));
#endif
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  check_tagged_name();
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "/sys/class/infiniband/%s", argv[1]);
  check_path("/sys/class/infiniband", S_IFDIR, S_IFDIR);
  check_path(path, S_IFDIR, S_IFLNK);
  check_open_file(path, S_IFDIR);
  check_relative(path);
  snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_type", argv[1]);
  check_path(path, S_IFREG, S_IFREG);
  check_open_file(path, S_IFREG);
  check_path("/dev/infiniband/uverbs192", S_IFCHR, S_IFCHR);
  EXPECT(status.st_rdev == makedev(1, 3));
  check_open_file("/dev/infiniband/uverbs192", S_IFCHR);
  check_missing("/sys/class/infiniband/none");
  check_missing("/dev/infiniband/uverbs0");
  return 0;
}
