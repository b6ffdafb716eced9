// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Translates the paths that this object presents. Nothing here allocates, locks or changes errno,
/// so the callers are as safe in signal handlers as the functions that they replace.

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum urxe_kind {
  URXE_ELSEWHERE,  ///< not presented: the caller's own path
  URXE_IN_TREE,    ///< a file or directory of the tree
  URXE_NODE,       ///< a device node of urxe; the null device is its stand-in
  URXE_CM_NODE,    ///< the connection manager's node; the null device is its stand-in
  URXE_MAD_NODE,   ///< a umad node; the null device is its stand-in
  URXE_REAL_ENTRY  ///< an entry of a real device of this machine
};

struct urxe_target {
  enum urxe_kind kind;
  const char* path;  ///< the path for the kernel: the caller's own, or `buffer`
  int number;        ///< of URXE_MAD_NODE
  char buffer[PATH_MAX];
};

/// Whether the path, with "//", "." and ".." resolved, is at or below a presented directory.
bool urxe_is_presented(const char* path);

/// Fills `target` for any path and returns target->path.
const char* urxe_translate(const char* path, struct urxe_target* target);

/// If `path`, an absolute path without links, lies in the tree, replaces it by the name under which
/// it is presented. The result is never longer.
void urxe_present_path(char* path);

/// Whether the address may be read: it is neither null, nor in the first 4 KiB, nor in the kernel's
/// half. On arm64 the highest byte may be a tag, which the processor ignores.
static inline bool urxe_may_be_readable(const char* path) {
#if defined(__aarch64__)
  uintptr_t address = (uintptr_t)path << 8;
  return address >= 4096ul << 8 && (intptr_t)address >= 0;
#else
  uintptr_t address = (uintptr_t)path;
  return address >= 4096 && (intptr_t)address >= 0;
#endif
}

/// The first check of every intercepted call: two loads for nearly all paths. For addresses that
/// cannot be read the kernel will return EFAULT.
static inline bool urxe_is_elsewhere(const char* path) {
  if (!urxe_may_be_readable(path)) return true;
  if (path[0] != '/') return true;
  char second = path[1];
  if (second != 's' && second != 'd' && second != '/' && second != '.') return true;
  return !urxe_is_presented(path);
}
