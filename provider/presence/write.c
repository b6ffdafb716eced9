// SPDX-License-Identifier: BSD-2-Clause
/// write() to urxe's nodes: the commands of libibverbs and librdmacm go to the provider instead of
/// the kernel.
#include <errno.h>
#include <stddef.h>

#include "provider/presence/cm_files.h"
#include "provider/presence/descriptors.h"
#include "provider/presence/ioctl.h"
#include "provider/presence/lack.h"
#include "provider/presence/mad_files.h"
#include "provider/presence/memory.h"
#include "provider/presence/netlink.h"
#include "provider/presence/next.h"
#include "provider/presence/presence_abi.h"
#include "provider/presence/read.h"

static _Atomic(urxe_write_hook) write_hook;

static ssize_t write_command(int fd, const void* buffer, size_t length) {
  if (urxe_is_cm_file(fd)) return urxe_write_to_cm_file(fd, buffer, length);
  if (urxe_is_mad_file(fd)) return urxe_write_to_mad_file(fd, buffer, length);
  if (urxe_is_netlink(fd)) {
    struct iovec piece = {(void*)buffer, length};
    return urxe_send_netlink(fd, &(struct msghdr){.msg_iov = &piece, .msg_iovlen = 1}, 0);
  }
  if (!urxe_is_node(fd)) {
    urxe_fd_set_remove(&urxe_nodes, fd);
    return URXE_NEXT(write)(fd, buffer, length);
  }
  urxe_write_hook hook = atomic_load(&write_hook);
  if (hook != NULL) return hook(fd, buffer, length);
  errno = ENOSYS;
  return -1;
}

/// As of a system call, success leaves errno as it was.
static __attribute__((noinline)) ssize_t write_to_node(int fd, const void* buffer, size_t length) {
  const int before = errno;
  const ssize_t written = write_command(fd, buffer, length);
  if (written >= 0) errno = before;
  return written;
}

/// Writes the pieces one by one, each as a command, as the kernel does for a device without
/// writev().
static __attribute__((noinline)) ssize_t write_pieces_to_node(int fd, const struct iovec* pieces,
                                                              int count) {
  if (urxe_is_netlink(fd)) {
    struct msghdr message = {.msg_iov = (struct iovec*)pieces, .msg_iovlen = (size_t)count};
    return urxe_send_netlink(fd, &message, 0);
  }
  if (!urxe_is_cm_file(fd) && !urxe_is_mad_file(fd) && !urxe_is_node(fd)) {
    urxe_fd_set_remove(&urxe_nodes, fd);
    return URXE_NEXT(writev)(fd, pieces, count);
  }
  ssize_t total = 0;
  for (int i = 0; i < count; ++i) {
    ssize_t written = write_to_node(fd, pieces[i].iov_base, pieces[i].iov_len);
    if (written < 0) return total != 0 ? total : -1;
    total += written;
  }
  return total;
}

URXE_EXPORT ssize_t write(int fd, const void* buffer, size_t length) {
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_nodes, fd))) {
    return URXE_NEXT(write)(fd, buffer, length);
  }
  return write_to_node(fd, buffer, length);
}

URXE_EXPORT ssize_t writev(int fd, const struct iovec* pieces, int count) {
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_nodes, fd))) {
    return URXE_NEXT(writev)(fd, pieces, count);
  }
  return write_pieces_to_node(fd, pieces, count);
}

static void set_write_hook(urxe_write_hook hook) {
  atomic_store(&write_hook, hook);
}

static int is_node(int fd) {
  return urxe_is_node(fd) ? 1 : 0;
}

URXE_EXPORT const struct urxe_presence* urxe_presence_v1(void) {
  static const struct urxe_presence kWithTree = {9,
                                                 urxe_tree,
                                                 set_write_hook,
                                                 is_node,
                                                 urxe_set_memory_hooks,
                                                 urxe_set_cm_hooks,
                                                 urxe_hold_tree,
                                                 urxe_claim_lack,
                                                 urxe_set_read_hook,
                                                 urxe_watch_reads,
                                                 urxe_set_ioctl_hook,
                                                 urxe_set_netlink_hook,
                                                 urxe_set_mad_hooks,
                                                 urxe_set_failed_send_hook};
  static const struct urxe_presence kWithoutTree = {9,
                                                    NULL,
                                                    set_write_hook,
                                                    is_node,
                                                    urxe_set_memory_hooks,
                                                    urxe_set_cm_hooks,
                                                    urxe_hold_tree,
                                                    urxe_claim_lack,
                                                    urxe_set_read_hook,
                                                    urxe_watch_reads,
                                                    urxe_set_ioctl_hook,
                                                    urxe_set_netlink_hook,
                                                    urxe_set_mad_hooks,
                                                    urxe_set_failed_send_hook};
  (void)URXE_NEXT(write);
  return urxe_tree_length != 0 ? &kWithTree : &kWithoutTree;
}
