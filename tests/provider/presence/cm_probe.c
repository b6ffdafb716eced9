// SPDX-License-Identifier: BSD-2-Clause
/// What a provider and a program see of the connection manager's node: this is both. Exits with 0,
/// or says which expectation failed.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider/presence/presence_abi.h"
#include "tests/provider/presence/old_status.h"
#include "tests/provider/presence/probe.h"

static const char kNode[] = "/dev/infiniband/rdma_cm";
static const struct urxe_presence* presence;
static int provider_end = -1;
static ino_t file_inode;
static int open_flags;
static int hook_fd;
static char written[64];

static int open_hook(int flags) {
  int fds[2];
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  struct stat status;
  EXPECT(syscall(SYS_fstat, fds[0], &status) == 0);
  file_inode = status.st_ino;
  provider_end = fds[1];
  open_flags = flags;
  return fds[0];
}

static int is_file_hook(int fd) {
  int saved_errno = errno;
  struct stat status;
  int result = syscall(SYS_fstat, fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
               status.st_ino == file_inode;
  errno = saved_errno;
  return result;
}

static ssize_t write_hook(int fd, const void* buffer, size_t length) {
  hook_fd = fd;
  strncat(written, buffer, length);
  if (length == 4 && memcmp(buffer, "fail", 4) == 0) {
    errno = ENOSPC;
    return -1;
  }
  return (ssize_t)length;
}

static const struct urxe_cm_hooks kHooks = {open_hook, is_file_hook, write_hook};

static bool is_null_device(mode_t mode, dev_t device) {
  return S_ISCHR(mode) && device == makedev(1, 3);
}

static void check_names(void) {
  struct stat status;
  EXPECT(stat(kNode, &status) == 0 && is_null_device(status.st_mode, status.st_rdev));
  EXPECT(lstat(kNode, &status) == 0 && S_ISCHR(status.st_mode));
  char* resolved = realpath(kNode, NULL);
  EXPECT(resolved != NULL && strcmp(resolved, kNode) == 0);
  free(resolved);
  bool listed = false;
  DIR* directory = opendir("/dev/infiniband");
  EXPECT(directory != NULL);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, "rdma_cm") == 0) listed = true;
  }
  closedir(directory);
  EXPECT(listed);
}

/// Without hooks, and with a provider that has none to give any more.
static void check_no_provider(void) {
  int fd = open(kNode, O_RDWR | O_CLOEXEC);
  if (fd >= 0) close(fd);
  presence->set_cm_hooks(NULL);
  EXPECT(open(kNode, O_RDWR | O_CLOEXEC) == -1 && errno == ENODEV);
}

static void check_opens(void) {
  presence->set_cm_hooks(&kHooks);
  int fd = open(kNode, O_RDWR | O_CLOEXEC);
  EXPECT(fd >= 0 && is_file_hook(fd));
  EXPECT(open_flags == (O_RDWR | O_CLOEXEC));
  close(fd);
  fd = open64(kNode, O_WRONLY | O_NONBLOCK);
  EXPECT(is_file_hook(fd) && (open_flags & O_NONBLOCK) != 0);
  close(fd);
  fd = openat(-1, "/dev/../dev//infiniband/rdma_cm", O_RDWR);
  EXPECT(is_file_hook(fd));
  close(fd);
  // What cannot write to the node is not the provider's business.
  fd = open(kNode, O_RDONLY);
  EXPECT(fd >= 0 && !is_file_hook(fd));
  close(fd);
  fd = open(kNode, O_PATH);
  EXPECT(fd >= 0 && !is_file_hook(fd));
  close(fd);
  EXPECT(open(kNode, O_RDWR | O_DIRECTORY) == -1 && errno == ENOTDIR);
  EXPECT(open(kNode, O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
}

static void check_status(int fd) {
  struct stat status;
  struct stat64 status64;
  struct statx more;
  EXPECT(fstat(fd, &status) == 0 && is_null_device(status.st_mode, status.st_rdev));
  EXPECT(fstat64(fd, &status64) == 0 && is_null_device(status64.st_mode, status64.st_rdev));
  EXPECT(__fxstat(kStatusVersion, fd, &status) == 0 &&
         is_null_device(status.st_mode, status.st_rdev));
  EXPECT(__fxstat64(kStatusVersion, fd, &status64) == 0 && S_ISCHR(status64.st_mode));
  EXPECT(fstatat(fd, "", &status, AT_EMPTY_PATH) == 0 && S_ISCHR(status.st_mode));
  EXPECT(fstatat64(fd, "", &status64, AT_EMPTY_PATH) == 0 && S_ISCHR(status64.st_mode));
  EXPECT(__fxstatat(kStatusVersion, fd, "", &status, AT_EMPTY_PATH) == 0 &&
         S_ISCHR(status.st_mode));
  EXPECT(statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &more) == 0 && S_ISCHR(more.stx_mode));
  EXPECT(fstatat(fd, "", &status, 0) == -1 && errno == ENOENT);
}

static bool writes_reach_hook(int fd) {
  written[0] = '\0';
  hook_fd = -1;
  return write(fd, "abc", 3) == 3 && strcmp(written, "abc") == 0 && hook_fd == fd;
}

static void check_writes(int fd) {
  EXPECT(writes_reach_hook(fd));
  EXPECT(write(fd, "fail", 4) == -1 && errno == ENOSPC);
  written[0] = '\0';
  struct iovec pieces[3] = {{"one", 3}, {"fail", 4}, {"two", 3}};
  EXPECT(writev(fd, pieces, 3) == 3 && strcmp(written, "onefail") == 0);
  EXPECT(writev(fd, pieces + 1, 1) == -1 && errno == ENOSPC);
  char byte;
  EXPECT(recv(provider_end, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
}

static void check_copies(int fd) {
  int copies[6] = {dup(fd),
                   dup2(fd, 100),
                   dup3(fd, 101, O_CLOEXEC),
                   fcntl(fd, F_DUPFD, 102),
                   fcntl(fd, F_DUPFD_CLOEXEC, 103),
                   -1};
  copies[5] = dup(copies[1]);
  for (int i = 0; i < 6; ++i) {
    EXPECT(copies[i] >= 0 && writes_reach_hook(copies[i]));
    check_status(copies[i]);
  }
  for (int i = 0; i < 6; ++i) close(copies[i]);
  // The rest of fcntl() is the kernel's.
  EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

/// A number that was a file's, and is another's now.
static void check_stale_numbers(int fd) {
  int fds[2];
  EXPECT(pipe(fds) == 0 && dup2(fds[1], fd) == fd);
  written[0] = '\0';
  struct iovec piece = {"pip", 3};
  struct stat status;
  EXPECT(fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode));
  EXPECT(write(fd, "abc", 3) == 3 && writev(fd, &piece, 1) == 3 && written[0] == '\0');
  char text[8] = "";
  EXPECT(read(fds[0], text, sizeof(text)) == 6 && strcmp(text, "abcpip") == 0);
  close(fds[0]);
  close(fds[1]);
  close(fd);
}

static void check_fork(void) {
  int fd = open(kNode, O_RDWR);
  pid_t child = fork();
  if (child == 0) {
    EXPECT(writes_reach_hook(fd));
    check_status(fd);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  close(fd);
  struct pollfd poll_fd = {provider_end, 0, 0};
  EXPECT(poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP) != 0);
}

int main(void) {
  presence = find_presence();
  EXPECT(presence->version >= 3);
  check_names();
  check_no_provider();
  check_opens();
  int fd = open(kNode, O_RDWR);
  check_status(fd);
  check_writes(fd);
  check_copies(fd);
  check_stale_numbers(fd);
  check_fork();
  return 0;
}
