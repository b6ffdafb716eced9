// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/mad_files.h"

#include <errno.h>

#include "provider/presence/loading.h"
#include "provider/presence/next.h"
#include "provider/presence/read.h"

struct urxe_fd_set urxe_mad_files;
static _Atomic(const struct urxe_mad_hooks*) mad_hooks;

void urxe_set_mad_hooks(const struct urxe_mad_hooks* hooks) {
  atomic_store(&mad_hooks, hooks);
}

int urxe_open_mad_node(const char* stand_in, int number, int flags, unsigned mode) {
  // The kernel refuses to create the node, and to open it as a directory.
  bool only_looks =
      (flags & (O_PATH | O_DIRECTORY)) != 0 || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (only_looks) return URXE_NEXT(open)(stand_in, flags, mode);
  if (atomic_load(&mad_hooks) == NULL) urxe_load_provider();
  const struct urxe_mad_hooks* hooks = atomic_load(&mad_hooks);
  if (hooks == NULL) {
    errno = ENODEV;
    return -1;
  }
  int fd = hooks->open(number, flags);
  if (fd < 0) return fd;
  urxe_fd_set_add(&urxe_nodes, fd);
  urxe_fd_set_add(&urxe_mad_files, fd);
  urxe_watch_reads(fd);
  return fd;
}

bool urxe_is_mad_file(int fd) {
  const struct urxe_mad_hooks* hooks = atomic_load(&mad_hooks);
  return hooks != NULL && hooks->is_file(fd) != 0;
}

ssize_t urxe_write_to_mad_file(int fd, const void* buffer, size_t length) {
  return atomic_load(&mad_hooks)->write(fd, buffer, length);
}

int urxe_command_mad_file(int fd, unsigned long request, void* argument) {
  return atomic_load(&mad_hooks)->ioctl(fd, request, argument);
}

size_t urxe_least_read_of_mad_file(int fd) {
  return atomic_load(&mad_hooks)->least_read(fd);
}
