// SPDX-License-Identifier: BSD-2-Clause
/// ioctl() on urxe's nodes: commands of libibverbs that are no write(), and those of libibumad. To
/// the kernel the nodes are the null device, or sockets, which know none. It is not asked for those
/// of libibverbs, because qemu-user does not know them either, and its answer is another one.
#include "provider/presence/ioctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/mad_files.h"
#include "provider/presence/next.h"

/// kVerbsMagic is that of all RDMA devices.
enum { kVerbsMagic = 0x1b, kVerbsNumber = 1, kVerbsHeaderBytes = 24 };
/// RDMA_VERBS_IOCTL of the kernel's headers.
static const unsigned long kVerbsRequest =
    _IOC(_IOC_READ | _IOC_WRITE, kVerbsMagic, kVerbsNumber, kVerbsHeaderBytes);

static _Atomic(urxe_ioctl_hook) ioctl_hook;

void urxe_set_ioctl_hook(urxe_ioctl_hook hook) {
  atomic_store(&ioctl_hook, hook);
}

static __attribute__((noinline)) int command_node(int fd, unsigned long request, void* argument) {
  if (request != kVerbsRequest && urxe_is_mad_file(fd)) {
    return urxe_command_mad_file(fd, request, argument);
  }
  urxe_ioctl_hook hook = atomic_load(&ioctl_hook);
  if (request != kVerbsRequest || !urxe_is_node(fd)) return URXE_NEXT(ioctl)(fd, request, argument);
  if (hook != NULL) return hook(fd, argument);
  errno = ENOTTY;
  return -1;
}

URXE_EXPORT int ioctl(int fd, unsigned long request, ...) {
  // The argument, if there is one, is an int or a pointer; libc itself reads it so.
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (URXE_UNLIKELY(_IOC_TYPE(request) == kVerbsMagic) && urxe_fd_set_may_have(&urxe_nodes, fd)) {
    return command_node(fd, request, argument);
  }
  return URXE_NEXT(ioctl)(fd, request, argument);
}
