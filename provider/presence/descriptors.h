// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Which file descriptors are our device nodes or files of the connection manager, and which lie in
/// the tree. A bit of the set of nodes, which has both of the former, is a hint that costs one
/// load; close(), dup() and the like are not watched, so what it says is checked against the
/// descriptor itself before anything is done about it. A set bit that turns out stale is cleared.
/// Safe in threads and signal handlers; inherited by fork().

#include <stdatomic.h>
#include <stdbool.h>

struct urxe_fd_set {
  _Atomic(bool) any;                   ///< whether a bit was ever set
  _Atomic(unsigned long) words[1024];  ///< descriptors below 65536; those above always count as set
};

extern struct urxe_fd_set urxe_nodes;

/// Whether this process ever had a directory of the tree open or as its working directory, and so
/// may open the tree's files by relative names, which need no translation.
extern _Atomic(bool) urxe_tree_entered;

void urxe_fd_set_add(struct urxe_fd_set* set, int fd);
void urxe_fd_set_remove(struct urxe_fd_set* set, int fd);
bool urxe_fd_set_may_have(struct urxe_fd_set* set, int fd);

/// Open flags that mark a descriptor of the null device as one of our nodes. They mean nothing to
/// the null device, nobody else opens it with all of them, and the kernel keeps them for F_GETFL.
#define URXE_NODE_FLAGS (O_NOFOLLOW | O_SYNC)

/// Asks the kernel. errno is left alone.
bool urxe_is_node(int fd);

/// Asks the kernel (/proc) whether the descriptor's file lies in the tree. errno is left alone.
bool urxe_is_in_tree(int fd);
