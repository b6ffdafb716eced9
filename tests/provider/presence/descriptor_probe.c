// SPDX-License-Identifier: BSD-2-Clause
/// A device's node, the connection manager's node and directories of the tree under descriptors of
/// 65536 and more, which the preloaded object does not keep apart by itself. The argument is the
/// device. Exits with 0, with 77 if the process may not have so many, or says which expectation
/// failed.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "provider/presence/presence_abi.h"
#include "tests/provider/presence/probe.h"

enum { kTracked = 65536, kLimit = kTracked + 100 };

static const struct urxe_presence* presence;
static int hook_calls;

static ssize_t hook(int fd, const void* buffer, size_t length) {
  (void)buffer;
  EXPECT(fd >= kTracked);
  ++hook_calls;
  return (ssize_t)length;
}

/// Leaves no number below kTracked free.
static void take_low_numbers(void) {
  struct rlimit limit = {kLimit, kLimit};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) exit(77);
  int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd < kTracked - 1) fd = dup(fd);
  if (fd < 0) exit(77);  // the host has a limit of its own
}

static int opened(const char* path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  EXPECT(fd >= kTracked);
  return fd;
}

static void check_node(int fd) {
  int before = hook_calls;
  EXPECT(presence->is_node(fd) == 1);
  EXPECT(write(fd, "abc", 3) == 3 && hook_calls == before + 1);
  struct iovec piece = {"abc", 3};
  EXPECT(writev(fd, &piece, 1) == 3);
}

/// Others' files under such numbers are left alone.
static void check_others(void) {
  int before = hook_calls;
  int plain = opened("/dev/null", O_RDWR);
  EXPECT(presence->is_node(plain) == 0 && write(plain, "abc", 3) == 3);
  int ends[2];
  EXPECT(pipe(ends) == 0 && ends[1] >= kTracked);
  char text[4] = "";
  EXPECT(write(ends[1], "abc", 3) == 3 && read(ends[0], text, 3) == 3);
  EXPECT(strcmp(text, "abc") == 0 && hook_calls == before);
  close(ends[0]);
  close(ends[1]);
  close(plain);
}

static void check_nodes(void) {
  int fd = opened("/dev/infiniband/uverbs192", O_RDWR);
  check_node(fd);
  int copies[3] = {dup(fd), dup2(fd, kTracked + 50), fcntl(fd, F_DUPFD_CLOEXEC, kTracked + 60)};
  for (int i = 0; i < 3; ++i) {
    EXPECT(copies[i] >= kTracked);
    check_node(copies[i]);
  }
  check_others();
  // The number goes to another file.
  int plain = opened("/dev/null", O_RDWR);
  EXPECT(dup2(plain, fd) == fd);
  int before = hook_calls;
  EXPECT(presence->is_node(fd) == 0 && write(fd, "abc", 3) == 3 && hook_calls == before);
  close(plain);
  close(fd);
  for (int i = 0; i < 3; ++i) close(copies[i]);
}

/// A counter's file has its value only if the preloaded object sees that it is opened.
static void check_counter(int directory, const char* name) {
  int fd = openat(directory, name, O_RDONLY);
  char text[8] = "";
  EXPECT(fd >= kTracked && read(fd, text, sizeof(text) - 1) == 2 && strcmp(text, "0\n") == 0);
  close(fd);
}

static void check_directories(const char* device) {
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1", device);
  int fd = opened(path, O_RDONLY | O_DIRECTORY);
  check_counter(fd, "counters/port_xmit_data");
  int below = openat(fd, "counters", O_RDONLY | O_DIRECTORY);
  EXPECT(below >= kTracked);
  check_counter(below, "port_xmit_data");
  int copy = dup(below);
  check_counter(copy, "port_xmit_data");
  // The number goes to another directory.
  int net = opened("/sys/class/net/lo", O_RDONLY | O_DIRECTORY);
  EXPECT(dup2(net, below) == below);
  int mtu = openat(below, "mtu", O_RDONLY);
  struct stat status;
  EXPECT(mtu >= kTracked && fstat(mtu, &status) == 0 && S_ISREG(status.st_mode));
  EXPECT(openat(below, "port_xmit_data", O_RDONLY) == -1 && errno == ENOENT);
  close(mtu);
  close(net);
  EXPECT(fchdir(fd) == 0);
  check_counter(AT_FDCWD, "counters/port_xmit_data");
  close(below);
  close(copy);
  close(fd);
}

int main(int argc, char** argv) {
  EXPECT(argc == 2);
  presence = find_presence();
  presence->set_write_hook(hook);
  take_low_numbers();
  check_nodes();
  check_directories(argv[1]);
  return 0;
}
