// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Which paths are ours, and where they lead. Nothing here allocates, locks or changes errno, so
/// the callers stay as safe in signal handlers as the functions they replace.

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum urxe_kind {
  URXE_ELSEWHERE,  ///< not ours: the caller's own path
  URXE_IN_TREE,    ///< a file or directory of the tree
  URXE_NODE,       ///< a device node of ours, stood in for by the null device
  URXE_CM_NODE,    ///< the connection manager's, stood in for by the null device
  URXE_REAL_ENTRY  ///< an entry of a real device of this machine
};

struct urxe_target {
  enum urxe_kind kind;
  const char* path;  ///< what to hand to the kernel: the caller's own path, or `buffer`
  char buffer[PATH_MAX];
};

/// Whether the path, with "//", "." and ".." taken out, is at or below a directory that we present.
bool urxe_is_presented(const char* path);

/// Fills `target` for any path and returns target->path.
const char* urxe_translate(const char* path, struct urxe_target* target);

/// Writes over `path`, an absolute one without links, the name under which it is presented where it
/// lies in the tree. The result is never longer.
void urxe_present_path(char* path);

/// The question that every intercepted call asks first: two loads for nearly all paths.
/// Addresses that cannot be read (null, the first page, the kernel's half) are left to the kernel,
/// which answers EFAULT.
static inline bool urxe_is_elsewhere(const char* path) {
  uintptr_t address = (uintptr_t)path;
  if (address < 4096 || (intptr_t)address < 0) return true;
  if (path[0] != '/') return true;
  char second = path[1];
  if (second != 's' && second != 'd' && second != '/' && second != '.') return true;
  return !urxe_is_presented(path);
}
