#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of musl's libc run under `urxe run` as they do without it. They see no devices, and one line says why."""

import glob
import os
import subprocess
import tempfile

import harness
from harness import Process

# Calls what the preloaded object stands in front of, from two threads.
PROGRAM = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>
static void require(int holds, int line) {
  if (holds) return;
  printf("line %d: %s\n", line, strerror(errno));
  exit(1);
}
#define REQUIRE(x) require(!!(x), __LINE__)
static void* allocate(void* unused) {
  for (size_t size = 1; size < 1000000; size *= 3) {
    char* block = malloc(size);
    REQUIRE(block != NULL);
    memset(block, 1, size);
    block = realloc(block, 2 * size);
    REQUIRE(block != NULL && block[size - 1] == 1);
    char* zeros = calloc(size, 2);
    REQUIRE(zeros != NULL && zeros[2 * size - 1] == 0);
    void* aligned = NULL;
    REQUIRE(posix_memalign(&aligned, 4096, size) == 0 && malloc_usable_size(aligned) >= size);
    free(aligned);
    free(zeros);
    free(block);
  }
  return unused;
}
static void map(void) {
  char* pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  pages = mremap(pages, 8192, 65536, MREMAP_MAYMOVE);
  REQUIRE(pages != MAP_FAILED && munmap(pages, 65536) == 0);
  int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  REQUIRE(segment >= 0);
  void* attached = shmat(segment, NULL, 0);
  shmctl(segment, IPC_RMID, NULL);
  REQUIRE(attached != (void*)-1 && shmdt(attached) == 0);
}
static void use_files(const char* own_path) {
  struct stat status;
  char resolved[4096];
  REQUIRE(stat(own_path, &status) == 0 && S_ISREG(status.st_mode) && realpath(own_path, resolved) != NULL);
  FILE* file = fopen(own_path, "r");
  REQUIRE(file != NULL && fclose(file) == 0);
  int fd = open(own_path, O_RDONLY), copy = fcntl(fd, F_DUPFD_CLOEXEC, 100), second = dup2(fd, 101);
  REQUIRE(fd >= 0 && copy >= 100 && second == 101 && fstat(copy, &status) == 0);
  REQUIRE(close(fd) == 0 && close(copy) == 0 && close(second) == 0);
  DIR* directory = opendir("/proc/self/fd");
  REQUIRE(directory != NULL && readdir(directory) != NULL && closedir(directory) == 0);
}
int main(int argc, char** argv) {
  pthread_t thread;
  REQUIRE(argc == 2 && pthread_create(&thread, NULL, allocate, NULL) == 0);
  allocate(NULL);
  REQUIRE(pthread_join(thread, NULL) == 0);
  map();
  use_files(argv[1]);
  printf("presented: %s\n", access("/sys/class/infiniband/urxe_lo", F_OK) == 0 ? "yes" : "no");
  return 0;
}
"""
LINE = " uses musl's libc, and urxe's objects glibc's, so it sees no devices"


def run(*command):
    output = Process(harness.urxe_run(list(command))).expect_success()
    harness.expect("presented: no" in output.splitlines() and "Error" not in output, output)
    return output


def test():
    harness.need_programs("musl-gcc")
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        source, program = (os.path.join(folder, name) for name in ("program.c", "program"))
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        subprocess.run(["musl-gcc", "-D_GNU_SOURCE", "-Wall", "-Werror", source, "-o", program], check=True)
        output = run(program, source)
        harness.expect(output.count(program + LINE) == 1, output)
        # By musl's dynamic linker, which can also be asked what it would load.
        linker = glob.glob("/lib/ld-musl-*.so.1")[0]
        output = run(linker, program, source)
        harness.expect(output.count(linker + LINE) == 1, output)
        listed = Process(harness.urxe_run([linker, "--list", program])).expect_success()
        harness.expect("musl's libc" not in listed and "statically" not in listed, listed)
        # As a child of a program of glibc's.
        run("sh", "-c", '"$0" "$1"; exit $?', program, source)


harness.main(test)
