// SPDX-License-Identifier: BSD-2-Clause
/// What a provider and a program see of a device node. The argument is the node; exits with 0, or
/// says which expectation failed.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider/presence/presence_abi.h"
#include "tests/provider/presence/probe.h"

static const struct urxe_presence* presence;
static _Atomic int hook_calls;
static int hook_fd;

static ssize_t hook(int fd, const void* buffer, size_t length) {
  ++hook_calls;
  hook_fd = fd;
  if (length == 4 && memcmp(buffer, "what", 4) == 0) {
    errno = ENOSYS;
    return -1;
  }
  return (ssize_t)length;
}

static void* command;

static int command_hook(int fd, void* argument) {
  hook_fd = fd;
  command = argument;
  errno = EXDEV;
  return -1;
}

static void check_node_is_null_device(const char* node) {
  struct stat status;
  EXPECT(stat(node, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3));
  EXPECT(lstat(node, &status) == 0 && S_ISCHR(status.st_mode));
  char text[16];
  EXPECT(readlink(node, text, sizeof(text)) == -1 && errno == EINVAL);
  char* resolved = realpath(node, NULL);
  EXPECT(resolved != NULL && strcmp(resolved, node) == 0);
  free(resolved);
}

static void check_hook(const char* node) {
  int fd = open(node, O_RDWR | O_CLOEXEC);
  EXPECT(fd >= 0 && presence->is_node(fd) == 1);
  EXPECT((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  EXPECT(write(fd, "abc", 3) == -1 && errno == ENOSYS);
  presence->set_write_hook(hook);
  EXPECT(write(fd, "abc", 3) == 3 && hook_calls == 1 && hook_fd == fd);
  EXPECT(write(fd, "what", 4) == -1 && errno == ENOSYS && hook_calls == 2);

  // Expect: a plain descriptor of the null device is not a node, under whatever number.
  int plain = open("/dev/null", O_RDWR);
  EXPECT(presence->is_node(plain) == 0);
  EXPECT(write(plain, "abc", 3) == 3 && hook_calls == 2);
  EXPECT(dup2(plain, fd) == fd);
  EXPECT(write(fd, "abc", 3) == 3 && hook_calls == 2);
  close(plain);
  close(fd);
  int again = open(node, O_RDWR);
  EXPECT(write(again, "abc", 3) == 3 && hook_calls == 3);
  close(again);
}

/// As RDMA_VERBS_IOCTL, whose header has 24 bytes.
static void check_ioctl(const char* node) {
  const unsigned long verbs = _IOC(_IOC_READ | _IOC_WRITE, 0x1b, 1, 24);
  uint64_t header[3] = {0};
  int fd = open(node, O_RDWR);
  int plain = open("/dev/null", O_RDWR);
  EXPECT(ioctl(fd, verbs, header) == -1 && errno == ENOTTY);
  presence->set_ioctl_hook(command_hook);
  EXPECT(ioctl(fd, verbs, header) == -1 && errno == EXDEV && hook_fd == fd && command == header);
  command = NULL;
  // What is another request's, or another file's, is the kernel's.
  int available = 0;
  EXPECT(ioctl(fd, FIONREAD, &available) == -1 && errno == ENOTTY);
  EXPECT(ioctl(plain, verbs, header) == -1 && errno == ENOTTY);
  EXPECT(dup2(plain, fd) == fd && ioctl(fd, verbs, header) == -1 && errno == ENOTTY);
  EXPECT(ioctl(-1, verbs, header) == -1 && errno == EBADF && command == NULL);
  EXPECT(ioctl(plain, FIOCLEX) == 0 && (fcntl(plain, F_GETFD) & FD_CLOEXEC) != 0);
  presence->set_ioctl_hook(NULL);
  close(plain);
  close(fd);
}

static void check_fork(const char* node) {
  int fd = open(node, O_RDWR);
  int before = hook_calls;
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    EXPECT(write(fd, "abc", 3) == 3 && hook_calls == before + 1);
    _exit(0);
  }
  int status;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(hook_calls == before);
  close(fd);
}

static void* open_and_write(void* node) {
  for (int i = 0; i < 200; ++i) {
    int fd = open(node, O_RDWR | O_CLOEXEC);
    EXPECT(fd >= 0 && write(fd, "abc", 3) == 3);
    int plain = open("/dev/null", O_WRONLY);
    EXPECT(plain >= 0 && write(plain, "abc", 3) == 3);
    close(fd);
    close(plain);
  }
  return NULL;
}

static void check_threads(char* node) {
  enum { kThreads = 4 };
  hook_calls = 0;
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    EXPECT(pthread_create(&threads[i], NULL, open_and_write, node) == 0);
  }
  for (int i = 0; i < kThreads; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
  // Expect: each write to a node reached the hook, none to the null device did.
  EXPECT(hook_calls == kThreads * 200);
}

static int read_outcome;
static int read_calls;

static int read_hook(int fd) {
  (void)fd;
  ++read_calls;
  if (read_outcome < 0) errno = EINTR;
  return read_outcome;
}

ssize_t __read_chk(int fd, void* buffer, size_t length, size_t buffer_size);

static void check_reads(void) {
  int watched[2];
  int other[2];
  EXPECT(pipe(watched) == 0 && pipe(other) == 0);
  EXPECT(write(watched[1], "abcdef", 6) == 6 && write(other[1], "xyz", 3) == 3);
  char byte = 0;
  presence->watch_reads(watched[0]);
  EXPECT(read(watched[0], &byte, 1) == 1 && byte == 'a');  // without a hook
  presence->set_read_hook(read_hook);
  EXPECT(read(other[0], &byte, 1) == 1 && byte == 'x' && read_calls == 0);
  EXPECT(read(watched[0], &byte, 1) == 1 && byte == 'b' && read_calls == 1);
  EXPECT(__read_chk(watched[0], &byte, 1, 1) == 1 && byte == 'c' && read_calls == 2);
  read_outcome = -1;
  EXPECT(read(watched[0], &byte, 1) == -1 && errno == EINTR && read_calls == 3);
  read_outcome = 1;  // the descriptor is another file's
  EXPECT(read(watched[0], &byte, 1) == 1 && byte == 'd' && read_calls == 4);
  EXPECT(read(watched[0], &byte, 1) == 1 && byte == 'e' && read_calls == 4);
  presence->watch_reads(watched[0]);
  EXPECT(read(watched[0], &byte, 1) == 1 && byte == 'f' && read_calls == 5);
  presence->set_read_hook(NULL);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  presence = find_presence();
  EXPECT(presence->version == 9 && presence->tree != NULL);
  EXPECT(strcmp(presence->tree, getenv("URXE_TREE")) == 0);
  check_node_is_null_device(argv[1]);
  check_hook(argv[1]);
  check_ioctl(argv[1]);
  check_fork(argv[1]);
  check_threads(argv[1]);
  check_reads();
  return 0;
}
