// SPDX-License-Identifier: BSD-2-Clause
/// opendir() and chdir(), by which a process gets hold of a directory of the tree.
#include "provider/presence/descriptors.h"
#include "provider/presence/next.h"
#include "provider/presence/place.h"

static __attribute__((noinline)) DIR* open_presented(const char* path) {
  struct urxe_target target;
  DIR* directory = URXE_NEXT(opendir)(urxe_translate(path, &target));
  if (directory != NULL && target.kind == URXE_IN_TREE) atomic_store(&urxe_tree_entered, true);
  return directory;
}

static __attribute__((noinline)) int change_to_presented(const char* path) {
  struct urxe_target target;
  int result = URXE_NEXT(chdir)(urxe_translate(path, &target));
  if (result == 0 && target.kind == URXE_IN_TREE) atomic_store(&urxe_tree_entered, true);
  return result;
}

URXE_EXPORT DIR* opendir(const char* path) {
  return urxe_is_elsewhere(path) ? URXE_NEXT(opendir)(path) : open_presented(path);
}

URXE_EXPORT int chdir(const char* path) {
  return urxe_is_elsewhere(path) ? URXE_NEXT(chdir)(path) : change_to_presented(path);
}
