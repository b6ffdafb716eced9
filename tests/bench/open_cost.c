// SPDX-License-Identifier: BSD-2-Clause
/// Nanoseconds that opening and closing a file takes which has nothing to do with RDMA, in a
/// process that has looked at /sys/class/infiniband as libibverbs does. Compare: by itself, and
/// under `urxe run`.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 200000 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void open_file(const char* path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) exit(1);
  close(fd);
}

static void open_stream(const char* path) {
  FILE* stream = fopen(path, "r");
  if (stream == NULL) exit(1);
  fclose(stream);
}

static void measure(const char* what, void (*opened)(const char*), const char* path) {
  double start = now_ns();
  for (int i = 0; i < kRounds; ++i) opened(path);
  printf("%-28s%8.0f ns\n", what, (now_ns() - start) / kRounds);
}

int main(void) {
  if (chdir("/etc") != 0) return 1;
  DIR* directory = opendir("/sys/class/infiniband");
  if (directory != NULL) {
    int fd = openat(dirfd(directory), ".", O_RDONLY);
    if (fd >= 0) close(fd);
    closedir(directory);
  }
  measure("open, absolute path", open_file, "/etc/passwd");
  measure("open, relative path", open_file, "passwd");
  measure("fopen, absolute path", open_stream, "/etc/passwd");
  measure("fopen, relative path", open_stream, "passwd");
  return 0;
}
