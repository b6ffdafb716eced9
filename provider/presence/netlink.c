// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/netlink.h"

#include <errno.h>
#include <linux/netlink.h>

#include "provider/presence/callers.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/loading.h"
#include "provider/presence/next.h"
#include "provider/presence/verbs_netlink.h"

/// SO_PRIORITY of a socket that stands in for one of RDMA netlink. Nothing looks at the priority of
/// a netlink socket.
enum { kStandIn = 5 };

static _Atomic(urxe_netlink_hook) netlink_hook;
static _Atomic(urxe_failed_send_hook) failed_send_hook;

void urxe_set_netlink_hook(urxe_netlink_hook hook) {
  atomic_store(&netlink_hook, hook);
}

void urxe_set_failed_send_hook(urxe_failed_send_hook hook) {
  atomic_store(&failed_send_hook, hook);
}

static int option_of(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

int urxe_stand_in_mark(int fd) {
  int saved_errno = errno;
  bool is_of_ours =
      option_of(fd, SO_DOMAIN) == AF_NETLINK && option_of(fd, SO_PROTOCOL) == NETLINK_USERSOCK;
  int mark = is_of_ours ? option_of(fd, SO_PRIORITY) : 0;
  errno = saved_errno;
  return mark;
}

bool urxe_is_netlink(int fd) {
  return urxe_stand_in_mark(fd) == kStandIn;
}

int urxe_open_stand_in(int type, int mark) {
  int fd = URXE_NEXT(socket)(AF_NETLINK, type, NETLINK_USERSOCK);
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &mark, sizeof(mark)) != 0) {
    close(fd);
    fd = -1;
  }
  if (fd >= 0) urxe_fd_set_add(&urxe_nodes, fd);
  return fd;
}

static int open_netlink(int type) {
  if (atomic_load(&netlink_hook) == NULL) urxe_load_provider();
  if (atomic_load(&netlink_hook) == NULL) {
    return URXE_NEXT(socket)(AF_NETLINK, type, NETLINK_RDMA);
  }
  return urxe_open_stand_in(type, kStandIn);
}

/// `caller` has asked for RDMA netlink. libibverbs lists devices by it, and reads sysfs, where
/// urxe's devices are, only if that fails. So it gets a socket by which it does; it finds the
/// machine's real devices in sysfs as well. Other programs, such as iproute2's `rdma`, get a socket
/// by which they see both. One that has libibverbs itself keeps the kernel's: the call may come
/// from libibverbs by way of another object, in the middle of what loading the provider would ask
/// of it.
static __attribute__((noinline)) int open_for(const void* caller, int type) {
  const char* name = urxe_object_of(caller);
  bool has_verbs = urxe_program_has_libibverbs();
  const bool lists_devices = has_verbs || urxe_is_loading_provider();
  if (urxe_is_verbs_library(name) || (lists_devices && urxe_is_sanitizer(name))) {
    return urxe_open_stand_in(type, URXE_FOR_VERBS);
  }
  return has_verbs ? URXE_NEXT(socket)(AF_NETLINK, type, NETLINK_RDMA) : open_netlink(type);
}

URXE_EXPORT int socket(int domain, int type, int protocol) {
  // The caller's address is known in this function's own frame only.
  if (URXE_UNLIKELY(domain == AF_NETLINK && protocol == NETLINK_RDMA)) {
    (void)URXE_NEXT(socket);
    if (urxe_tree_length != 0) return open_for(__builtin_return_address(0), type);
  }
  return URXE_NEXT(socket)(domain, type, protocol);
}

__attribute__((noinline)) ssize_t urxe_send_netlink(int fd, const struct msghdr* message,
                                                    int flags) {
  const int mark = urxe_stand_in_mark(fd);
  if (mark == URXE_FOR_VERBS) return urxe_answer_verbs(fd, message);
  urxe_netlink_hook hook = atomic_load(&netlink_hook);
  if (hook == NULL || mark != kStandIn) return URXE_NEXT(sendmsg)(fd, message, flags);
  return hook(fd, message);
}

static __attribute__((noinline)) ssize_t after_failed_send(int fd, const struct msghdr* message) {
  urxe_failed_send_hook hook = atomic_load(&failed_send_hook);
  return hook != NULL ? hook(fd, message) : -1;
}

URXE_EXPORT ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_nodes, fd))) {
    const ssize_t sent = URXE_NEXT(sendmsg)(fd, message, flags);
    return URXE_LIKELY(sent >= 0) ? sent : after_failed_send(fd, message);
  }
  return urxe_send_netlink(fd, message, flags);
}

URXE_EXPORT ssize_t sendto(int fd, const void* buffer, size_t length, int flags,
                           __CONST_SOCKADDR_ARG address, socklen_t address_length) {
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_nodes, fd) || !urxe_is_netlink(fd))) {
    return URXE_NEXT(sendto)(fd, buffer, length, flags, address, address_length);
  }
  struct iovec piece = {(void*)buffer, length};
  struct msghdr message = {.msg_name = (void*)address.__sockaddr__,
                           .msg_namelen = address_length,
                           .msg_iov = &piece,
                           .msg_iovlen = 1};
  return urxe_send_netlink(fd, &message, flags);
}

URXE_EXPORT ssize_t send(int fd, const void* buffer, size_t length, int flags) {
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_nodes, fd) || !urxe_is_netlink(fd))) {
    return URXE_NEXT(send)(fd, buffer, length, flags);
  }
  struct iovec piece = {(void*)buffer, length};
  return urxe_send_netlink(fd, &(struct msghdr){.msg_iov = &piece, .msg_iovlen = 1}, flags);
}
