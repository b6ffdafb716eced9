// SPDX-License-Identifier: BSD-2-Clause
/// Opens RDMA netlink from the library named; prints the error, or "open".
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void* symbol = library != NULL ? dlsym(library, "open_rdma_netlink") : NULL;
  if (symbol == NULL) return 2;
  int (*open_rdma_netlink)(void);
  memcpy(&open_rdma_netlink, &symbol, sizeof(symbol));
  puts(open_rdma_netlink() >= 0 ? "open" : strerror(errno));
  return 0;
}
