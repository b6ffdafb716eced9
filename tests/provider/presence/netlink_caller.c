// SPDX-License-Identifier: BSD-2-Clause
/// A library that opens RDMA netlink; built under a name like libibverbs' and under another.
#include <sys/socket.h>

__attribute__((visibility("default"))) int open_rdma_netlink(void);

int open_rdma_netlink(void) {
  // Not a tail call, which would leave no trace of this library.
  volatile int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 20);
  return fd;
}
