// SPDX-License-Identifier: BSD-2-Clause
// Preloaded into both ends of a program whose client does not wait until its server listens
// (qperf), or listens again (perftest -R). $URXE_TURNS is a folder, at each end another. The server
// makes a file N in its folder when it listens for the Nth time. The client, from its $URXE_TURN-th
// rdma_resolve_addr() on, waits until there is a file of that name in its own: whoever runs the two
// makes it once the server's is there. After two minutes the client goes on without it.
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kPathBytes = 256, kLooks = 12000, kPauseMicroseconds = 10000 };

static const char* turn_path(char* buffer, int turn) {
  const char* folder = getenv("URXE_TURNS");
  int length = folder == NULL ? -1 : snprintf(buffer, kPathBytes, "%s/%d", folder, turn);
  return length < 0 || length >= kPathBytes ? NULL : buffer;
}

__attribute__((visibility("default"))) int rdma_listen(struct rdma_cm_id* id, int backlog) {
  static atomic_int listens;
  int (*real)(struct rdma_cm_id*, int) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, "rdma_listen");
  int result = real(id, backlog);
  char buffer[kPathBytes];
  const char* path = result == 0 ? turn_path(buffer, ++listens) : NULL;
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file != NULL) {
    fputs("listens\n", file);
    fclose(file);
  }
  return result;
}

__attribute__((visibility("default"))) int rdma_resolve_addr(struct rdma_cm_id* id,
                                                             struct sockaddr* source,
                                                             struct sockaddr* destination,
                                                             int timeout_ms) {
  static atomic_int resolutions;
  int (*real)(struct rdma_cm_id*, struct sockaddr*, struct sockaddr*, int) = NULL;
  *(void**)&real = dlsym(RTLD_NEXT, "rdma_resolve_addr");
  char buffer[kPathBytes];
  const char* number = getenv("URXE_TURN");
  int turn = number == NULL ? 0 : atoi(number);
  const char* path = turn > 0 && ++resolutions >= turn ? turn_path(buffer, turn) : NULL;
  for (int looks = 0; path != NULL && access(path, F_OK) != 0 && looks < kLooks; ++looks) {
    usleep(kPauseMicroseconds);
  }
  return real(id, source, destination, timeout_ms);
}
