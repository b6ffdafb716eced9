// SPDX-License-Identifier: BSD-2-Clause
/// Preloaded behind ours: a kernel that has RDMA netlink.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK && protocol == 20) protocol = 0;
  return (int)syscall(SYS_socket, domain, type, protocol);
}
