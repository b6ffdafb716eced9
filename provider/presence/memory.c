// SPDX-License-Identifier: BSD-2-Clause
/// The calls that take memory away. A NIC's memory regions hold their pages; the provider's are the
/// application's own addresses, so it has to hear of such a call before it is carried out. The rule
/// is in provider/runtime/memory/unmap_watch.h; the allocator's calls are in allocator.c. Without a
/// provider that asked, each costs a load and a branch more.
#include "provider/presence/memory.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "provider/presence/next.h"

_Atomic(const struct urxe_memory_hooks*) urxe_memory_hooks;

void urxe_set_memory_hooks(const struct urxe_memory_hooks* hooks) {
  urxe_find_allocator();
  atomic_store(&urxe_memory_hooks, hooks);
}

static uintptr_t round_to_page(uintptr_t address) {
  const uintptr_t page = (uintptr_t)getpagesize();
  return (address + page - 1) & ~(page - 1);
}

URXE_EXPORT int munmap(void* address, size_t length) {
  // Refused by the kernel, which is the usual way to fail: nothing is lost.
  bool starts_a_page = round_to_page((uintptr_t)address) == (uintptr_t)address;
  const struct urxe_memory_hooks* hooks =
      starts_a_page ? urxe_begin_loss(address, length, URXE_GONE) : NULL;
  int result = URXE_NEXT(munmap)(address, length);
  urxe_end_loss(hooks);
  return result;
}

/// Only the pages of the tail go where the mapping shrinks in place, and nothing where it grows.
URXE_EXPORT void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  bool stays = (flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == 0;
  size_t kept = stays ? round_to_page(new_length) : 0;
  const struct urxe_memory_hooks* hooks = NULL;
  if (old_length > kept)
    hooks = urxe_begin_loss((const char*)address + kept, old_length - kept, URXE_GONE);
  const struct urxe_memory_hooks* target_hooks =
      target != NULL ? urxe_begin_loss(target, new_length, URXE_GONE) : NULL;
  void* result = URXE_NEXT(mremap)(address, old_length, new_length, flags, target);
  urxe_end_loss(target_hooks);
  urxe_end_loss(hooks);
  return result;
}

static inline bool replaces(int flags) {
  return (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) == 0;
}

URXE_EXPORT void* mmap(void* address, size_t length, int protection, int flags, int fd,
                       off_t offset) {
  const struct urxe_memory_hooks* hooks =
      replaces(flags) ? urxe_begin_loss(address, length, URXE_GONE) : NULL;
  void* result = URXE_NEXT(mmap)(address, length, protection, flags, fd, offset);
  urxe_end_loss(hooks);
  return result;
}

URXE_EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int fd,
                         off64_t offset) {
  const struct urxe_memory_hooks* hooks =
      replaces(flags) ? urxe_begin_loss(address, length, URXE_GONE) : NULL;
  void* result = URXE_NEXT(mmap64)(address, length, protection, flags, fd, offset);
  urxe_end_loss(hooks);
  return result;
}

static inline bool forbids(int protection) {
  return (protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE);
}

URXE_EXPORT int mprotect(void* address, size_t length, int protection) {
  const struct urxe_memory_hooks* hooks =
      forbids(protection) ? urxe_begin_loss(address, length, URXE_UNCERTAIN) : NULL;
  int result = URXE_NEXT(mprotect)(address, length, protection);
  urxe_end_loss(hooks);
  return result;
}

URXE_EXPORT int pkey_mprotect(void* address, size_t length, int protection, int key) {
  const struct urxe_memory_hooks* hooks = urxe_begin_loss(address, length, URXE_UNCERTAIN);
  int result = URXE_NEXT(pkey_mprotect)(address, length, protection, key);
  urxe_end_loss(hooks);
  return result;
}

URXE_EXPORT int shmdt(const void* address) {
  const struct urxe_memory_hooks* hooks = urxe_begin_loss(address, URXE_WHOLE_MAPPING, URXE_GONE);
  int result = URXE_NEXT(shmdt)(address);
  urxe_end_loss(hooks);
  return result;
}

/// The hooks to end with after the break has moved down to `address`, which takes whole pages.
static const struct urxe_memory_hooks* begin_break(uintptr_t address) {
  if (URXE_LIKELY(urxe_current_memory_hooks() == NULL)) return NULL;
  uintptr_t now = (uintptr_t)URXE_NEXT(sbrk)(0);
  uintptr_t from = round_to_page(address);
  return from < now ? urxe_begin_loss((const void*)from, now - from, URXE_GONE) : NULL;
}

URXE_EXPORT int brk(void* address) {
  const struct urxe_memory_hooks* hooks = begin_break((uintptr_t)address);
  int result = URXE_NEXT(brk)(address);
  urxe_end_loss(hooks);
  return result;
}

URXE_EXPORT void* sbrk(intptr_t increment) {
  const struct urxe_memory_hooks* hooks = NULL;
  if (increment < 0 && urxe_current_memory_hooks() != NULL) {
    hooks = begin_break((uintptr_t)URXE_NEXT(sbrk)(0) + (uintptr_t)increment);
  }
  void* result = URXE_NEXT(sbrk)(increment);
  urxe_end_loss(hooks);
  return result;
}
