// SPDX-License-Identifier: BSD-2-Clause
/// A sanitizer's library is loaded before all others and calls the function that
/// dlsym(RTLD_NEXT, NAME) finds, which is not one that is hidden in a version of its name
/// (memory.c). So this object is loaded between the two. It has the names without a version.
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "provider/presence/versioned.h"

#define URXE_EXPORT __attribute__((visibility("default")))

URXE_EXPORT int munmap(void* address, size_t length) {
  return urxe_versioned_munmap(address, length);
}

URXE_EXPORT void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int has_target = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0;
  void* target = has_target ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  return urxe_versioned_mremap(address, old_length, new_length, flags, target);
}

URXE_EXPORT void* mmap(void* address, size_t length, int protection, int flags, int fd,
                       off_t offset) {
  return urxe_versioned_mmap(address, length, protection, flags, fd, offset);
}

URXE_EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int fd,
                         off64_t offset) {
  return urxe_versioned_mmap64(address, length, protection, flags, fd, offset);
}

URXE_EXPORT void* shmat(int id, const void* address, int flags) {
  return urxe_versioned_shmat(id, address, flags);
}

URXE_EXPORT int shmdt(const void* address) {
  return urxe_versioned_shmdt(address);
}

URXE_EXPORT int brk(void* address) {
  return urxe_versioned_brk(address);
}

URXE_EXPORT void* sbrk(intptr_t increment) {
  return urxe_versioned_sbrk(increment);
}
