// SPDX-License-Identifier: BSD-2-Clause
/// realpath() and its kin return names under /sys and /dev, not names in the tree.
#include <limits.h>
#include <string.h>

#include "provider/presence/next.h"
#include "provider/presence/place.h"

/// Writes the node's name to `resolved`, or to new memory if that is null, as libc does.
static char* name_node(const char* path, char* resolved) {
  static const char kNodes[] = "/dev/infiniband/";
  const char* end = path + strlen(path);
  const char* name = end;
  while (name > path && name[-1] != '/') --name;
  size_t name_length = (size_t)(end - name);
  size_t before = sizeof(kNodes) - 1;
  if (resolved == NULL) resolved = malloc(before + name_length + 1);
  if (resolved == NULL) return NULL;
  memcpy(resolved, kNodes, before);
  memcpy(resolved + before, name, name_length + 1);
  return resolved;
}

static __attribute__((noinline)) char* resolve_presented(const char* path, char* resolved) {
  struct urxe_target target;
  const char* other = urxe_translate(path, &target);
  // A node is a file of its own, not the null device that stands in for it.
  bool is_node =
      target.kind == URXE_NODE || target.kind == URXE_CM_NODE || target.kind == URXE_MAD_NODE;
  if (is_node && strcmp(other, "/dev/null") == 0) {
    return name_node(path, resolved);
  }
  char* result = URXE_NEXT(realpath)(other, resolved);
  if (result != NULL) urxe_present_path(result);
  return result;
}

URXE_EXPORT char* realpath(const char* path, char* resolved) {
  return urxe_is_elsewhere(path) ? URXE_NEXT(realpath)(path, resolved)
                                 : resolve_presented(path, resolved);
}

URXE_EXPORT char* __realpath_chk(const char* path, char* resolved, size_t resolved_size) {
  // libc aborts the program if the buffer is too small.
  if (urxe_is_elsewhere(path) || resolved_size < PATH_MAX) {
    return URXE_NEXT(__realpath_chk)(path, resolved, resolved_size);
  }
  return resolve_presented(path, resolved);
}

URXE_EXPORT char* canonicalize_file_name(const char* path) {
  return urxe_is_elsewhere(path) ? URXE_NEXT(canonicalize_file_name)(path)
                                 : resolve_presented(path, NULL);
}
