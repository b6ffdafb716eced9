// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "provider/presence/descriptors.h"

struct urxe_next urxe_next;

char urxe_tree[URXE_LONGEST_TREE];
size_t urxe_tree_length;
static atomic_int held_tree = -1;

// GNU's libc has it, musl does not.
__attribute__((weak)) const char* gnu_get_libc_version(void);

static void read_environment(void) {
  // The provider is built for GNU's libc: a program of another one would see devices that it cannot
  // use.
  if (gnu_get_libc_version == NULL) return;
  const char* tree = getenv("URXE_TREE");
  if (tree == NULL || tree[0] != '/') return;
  size_t length = strlen(tree);
  if (length >= URXE_LONGEST_TREE) return;
  while (length > 1 && tree[length - 1] == '/') --length;
  memcpy(urxe_tree, tree, length);
  urxe_tree[length] = '\0';
  urxe_tree_length = length;
}

void urxe_hold_tree(int fd) {
  atomic_store(&held_tree, fd);
}

// A process that has dropped root's rights may not pass the directory that the tree is in.
size_t urxe_reach_tree(char out[URXE_LONGEST_TREE]) {
  struct stat status;
  int fd = atomic_load(&held_tree);
  int saved_errno = errno;
  bool is_closed = fd >= 0 && URXE_NEXT(lstat)(urxe_tree, &status) != 0 && errno == EACCES;
  errno = saved_errno;
  if (is_closed) return urxe_name_descriptor(fd, out);
  memcpy(out, urxe_tree, urxe_tree_length);
  return urxe_tree_length;
}

/// A child inherits the working directory of a shell that has entered the tree.
static void note_working_directory(void) {
  if (urxe_tree_length == 0) return;
  int saved_errno = errno;
  char path[PATH_MAX];
  ssize_t length = urxe_next.readlink_function("/proc/self/cwd", path, sizeof(path));
  errno = saved_errno;
  if (length > (ssize_t)urxe_tree_length && memcmp(path, urxe_tree, urxe_tree_length) == 0) {
    atomic_store(&urxe_inside_of, getpid());
    atomic_store(&urxe_is_inside, true);
  }
}

void urxe_set_up(void) {
  // There is one thread until the constructor has run, and two callers would store the same values.
  if (atomic_load_explicit(&urxe_next.ready, memory_order_acquire)) return;
#define URXE_FIND(name)                                        \
  {                                                            \
    void* found = dlsym(RTLD_NEXT, #name);                     \
    memcpy(&urxe_next.name##_function, &found, sizeof(found)); \
  }
  URXE_NEXT_FUNCTIONS(URXE_FIND)
#undef URXE_FIND
  // A program's pre-initializers, such as a sanitizer's run-time, run before libc has an
  // environment.
  if (environ == NULL) return;
  read_environment();
  note_working_directory();
  atomic_store_explicit(&urxe_next.ready, true, memory_order_release);
}

__attribute__((constructor)) static void construct(void) {
  urxe_set_up();
}
