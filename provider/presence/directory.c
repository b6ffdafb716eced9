// SPDX-License-Identifier: BSD-2-Clause
/// opendir(), chdir() and fchdir(), by which a process gets hold of a directory of the tree.
#include <unistd.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/lack.h"
#include "provider/presence/next.h"
#include "provider/presence/place.h"

static void note_place(bool inside) {
  // A child of vfork() shares these variables, but has a working directory of its own.
  if (inside) atomic_store(&urxe_inside_of, getpid());
  if (inside || atomic_load(&urxe_inside_of) == getpid()) atomic_store(&urxe_is_inside, inside);
}

static __attribute__((noinline)) DIR* open_presented(const char* path) {
  struct urxe_target target;
  DIR* directory = URXE_NEXT(opendir)(urxe_translate(path, &target));
  if (directory != NULL && target.kind == URXE_IN_TREE) {
    urxe_fd_set_add(&urxe_directories, dirfd(directory));
  }
  if (directory == NULL && target.kind == URXE_IN_TREE) urxe_report_lack(path);
  return directory;
}

static __attribute__((noinline)) int change_to_presented(const char* path) {
  struct urxe_target target;
  int result = URXE_NEXT(chdir)(urxe_translate(path, &target));
  if (result == 0) note_place(target.kind == URXE_IN_TREE);
  return result;
}

URXE_EXPORT DIR* opendir(const char* path) {
  return urxe_is_elsewhere(path) ? URXE_NEXT(opendir)(path) : open_presented(path);
}

URXE_EXPORT int chdir(const char* path) {
  if (!urxe_is_elsewhere(path)) return change_to_presented(path);
  int result = URXE_NEXT(chdir)(path);
  // A relative path may stay in the tree.
  if (result == 0 && path[0] == '/') note_place(false);
  return result;
}

URXE_EXPORT int fchdir(int fd) {
  int result = URXE_NEXT(fchdir)(fd);
  if (result != 0) return result;
  bool inside = urxe_fd_set_may_have(&urxe_directories, fd) && urxe_is_in_tree(fd);
  note_place(inside);
  return result;
}
