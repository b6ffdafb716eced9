// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Recognizes file descriptors of urxe's device nodes, of the files of rdma_cm and umad, of RDMA
/// netlink and of the tree. The set of nodes has all but the last. A set's bits are only hints,
/// which cost one load: close() is not intercepted, so a set bit is checked against the descriptor
/// itself before use, and a stale one is cleared. Safe in threads and signal handlers; inherited by
/// fork().

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct urxe_fd_set {
  _Atomic(bool) any;                   ///< whether a bit was ever set
  _Atomic(unsigned long) words[1024];  ///< descriptors below 65536; those above always count as set
};

extern struct urxe_fd_set urxe_nodes;

// A process that has a directory of the tree open, or as its working directory, may open the tree's
// files by relative names, which are not translated.

/// Descriptors of the tree's directories.
extern struct urxe_fd_set urxe_directories;
/// Whether the working directory may lie in the tree.
extern _Atomic(bool) urxe_is_inside;
extern _Atomic(pid_t) urxe_inside_of;  ///< the process that was last seen to enter it

/// Whether `fd`, which was opened as `path` beside `dirfd`, is of a file of the tree. Two loads for
/// nearly all. `path` was not translated, and can be read. Keeps errno.
bool urxe_opened_in_tree(int dirfd, const char* path, int fd);

void urxe_fd_set_add(struct urxe_fd_set* set, int fd);
void urxe_fd_set_remove(struct urxe_fd_set* set, int fd);
bool urxe_fd_set_may_have(struct urxe_fd_set* set, int fd);

/// Open flags that mark a descriptor of the null device as one of urxe's nodes. They have no effect
/// on the null device, other programs do not open it with all of them, and F_GETFL returns them.
#define URXE_NODE_FLAGS (O_NOFOLLOW | O_SYNC)

/// Asks the kernel. Keeps errno.
bool urxe_is_node(int fd);

/// Writes "/proc/self/fd/<fd>" and returns its length.
size_t urxe_name_descriptor(int fd, char out[32]);

/// Asks the kernel (/proc) for the path of the descriptor's file. Returns its length, without a
/// terminating zero, or -1. Keeps errno.
ssize_t urxe_read_path(int fd, char path[PATH_MAX]);

/// Asks the kernel (/proc) whether the descriptor's file lies in the tree. Keeps errno.
bool urxe_is_in_tree(int fd);
