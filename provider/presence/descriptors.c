// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/descriptors.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "provider/presence/next.h"

struct urxe_fd_set urxe_nodes;
struct urxe_fd_set urxe_directories;
_Atomic(bool) urxe_is_inside;
_Atomic(pid_t) urxe_inside_of;

enum { kBitsPerWord = sizeof(unsigned long) * CHAR_BIT, kTracked = 1024 * kBitsPerWord };

static unsigned long bit_of(int fd) {
  return 1ul << ((unsigned)fd % kBitsPerWord);
}

void urxe_fd_set_add(struct urxe_fd_set* set, int fd) {
  if (fd < kTracked) atomic_fetch_or(&set->words[fd / kBitsPerWord], bit_of(fd));
  atomic_store(&set->any, true);
}

void urxe_fd_set_remove(struct urxe_fd_set* set, int fd) {
  if (fd < kTracked) atomic_fetch_and(&set->words[fd / kBitsPerWord], ~bit_of(fd));
}

bool urxe_fd_set_may_have(struct urxe_fd_set* set, int fd) {
  if (URXE_LIKELY(!atomic_load_explicit(&set->any, memory_order_relaxed)) || fd < 0) return false;
  if (fd >= kTracked) return true;
  unsigned long word = atomic_load_explicit(&set->words[fd / kBitsPerWord], memory_order_relaxed);
  return (word & bit_of(fd)) != 0;
}

bool urxe_is_node(int fd) {
  int saved_errno = errno;
  struct stat status;
  int flags = URXE_NEXT(fcntl)(fd, F_GETFL);
  bool result = flags >= 0 && (flags & URXE_NODE_FLAGS) == URXE_NODE_FLAGS &&
                URXE_NEXT(fstat)(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
                status.st_rdev == makedev(1, 3);
  errno = saved_errno;
  return result;
}

// snprintf is not safe in a signal handler.
size_t urxe_name_descriptor(int fd, char out[32]) {
  char digits[12];
  size_t count = 0;
  do {
    digits[count++] = (char)('0' + fd % 10);
    fd /= 10;
  } while (fd != 0);
  static const char kPrefix[] = "/proc/self/fd/";
  size_t length = sizeof(kPrefix) - 1;
  memcpy(out, kPrefix, length);
  while (count != 0) out[length++] = digits[--count];
  out[length] = '\0';
  return length;
}

ssize_t urxe_read_path(int fd, char path[PATH_MAX]) {
  int saved_errno = errno;
  char name[32];
  (void)urxe_name_descriptor(fd, name);
  ssize_t length = URXE_NEXT(readlink)(name, path, PATH_MAX);
  errno = saved_errno;
  return length;
}

bool urxe_is_in_tree(int fd) {
  char path[PATH_MAX];
  ssize_t length = urxe_read_path(fd, path);
  return length > (ssize_t)urxe_tree_length && urxe_tree_length != 0 &&
         memcmp(path, urxe_tree, urxe_tree_length) == 0 && path[urxe_tree_length] == '/';
}

bool urxe_opened_in_tree(int dirfd, const char* path, int fd) {
  if (path[0] == '/') return false;
  if (dirfd == AT_FDCWD) {
    return URXE_UNLIKELY(atomic_load_explicit(&urxe_is_inside, memory_order_relaxed)) &&
           urxe_is_in_tree(fd);
  }
  if (URXE_LIKELY(!urxe_fd_set_may_have(&urxe_directories, dirfd))) return false;
  if (urxe_is_in_tree(fd)) return true;
  if (!urxe_is_in_tree(dirfd)) urxe_fd_set_remove(&urxe_directories, dirfd);  // it was closed
  return false;
}
