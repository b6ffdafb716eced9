// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/byte_lock.h"

#include <fcntl.h>

#include <cerrno>

namespace urxe {
namespace {

struct flock describe(short type, uint64_t at, off_t bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(at);
  lock.l_len = bytes;
  return lock;
}

int set(int fd, struct flock lock) {
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

}  // namespace

int lock_byte(int fd, uint64_t at, ByteLock kind) {
  return set(fd, describe(kind == ByteLock::kShared ? F_RDLCK : F_WRLCK, at, 1));
}

int lock_all_bytes(int fd) {
  return set(fd, describe(F_WRLCK, 0, 0));
}

bool is_byte_locked(int fd, uint64_t at) {
  return is_any_byte_locked(fd, at, 1);
}

bool is_any_byte_locked(int fd, uint64_t first, uint64_t count) {
  struct flock lock = describe(F_WRLCK, first, static_cast<off_t>(count));
  return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace urxe
