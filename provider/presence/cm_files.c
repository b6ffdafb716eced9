// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/cm_files.h"

#include <errno.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/loading.h"
#include "provider/presence/next.h"

static _Atomic(const struct urxe_cm_hooks*) cm_hooks;

void urxe_set_cm_hooks(const struct urxe_cm_hooks* hooks) {
  atomic_store(&cm_hooks, hooks);
}

int urxe_open_cm_node(const char* stand_in, int flags, unsigned mode) {
  // Commands need a descriptor that can be written. The kernel refuses to create the node, and to
  // open it as a directory.
  bool only_looks = (flags & O_ACCMODE) == O_RDONLY || (flags & (O_PATH | O_DIRECTORY)) != 0 ||
                    (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (only_looks) return URXE_NEXT(open)(stand_in, flags, mode);
  if (atomic_load(&cm_hooks) == NULL) urxe_load_provider();
  const struct urxe_cm_hooks* hooks = atomic_load(&cm_hooks);
  if (hooks == NULL) {
    errno = ENODEV;
    return -1;
  }
  int fd = hooks->open(flags);
  if (fd >= 0) urxe_fd_set_add(&urxe_nodes, fd);
  return fd;
}

bool urxe_is_cm_file(int fd) {
  const struct urxe_cm_hooks* hooks = atomic_load(&cm_hooks);
  return hooks != NULL && hooks->is_file(fd) != 0;
}

ssize_t urxe_write_to_cm_file(int fd, const void* buffer, size_t length) {
  return atomic_load(&cm_hooks)->write(fd, buffer, length);
}
