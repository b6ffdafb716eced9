// SPDX-License-Identifier: BSD-2-Clause
/// The calls that take memory away. A NIC's memory regions hold their pages; the provider's are the
/// application's own addresses, so it has to hear of such a call before it is carried out. Without
/// a provider that asked, each costs a load and a branch more.
#include "provider/presence/memory.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "provider/presence/next.h"

static _Atomic(const struct urxe_memory_hooks*) memory_hooks;

static inline const struct urxe_memory_hooks* current_hooks(void) {
  return atomic_load_explicit(&memory_hooks, memory_order_acquire);
}

/// The hooks to end with, or null.
static inline const struct urxe_memory_hooks* begin(const void* address, size_t length) {
  const struct urxe_memory_hooks* hooks = current_hooks();
  if (URXE_LIKELY(hooks == NULL)) return NULL;
  return hooks->before(address, length) != 0 ? hooks : NULL;
}

static inline void end(const struct urxe_memory_hooks* hooks) {
  if (URXE_UNLIKELY(hooks != NULL)) hooks->after();
}

URXE_EXPORT int munmap(void* address, size_t length) {
  const struct urxe_memory_hooks* hooks = begin(address, length);
  int result = URXE_NEXT(munmap)(address, length);
  end(hooks);
  return result;
}

/// Only the tail goes where the mapping shrinks in place, and nothing where it grows there.
URXE_EXPORT void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  bool stays = (flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == 0;
  size_t kept = stays ? (new_length < old_length ? new_length : old_length) : 0;
  const struct urxe_memory_hooks* hooks = NULL;
  if (old_length > kept) hooks = begin((const char*)address + kept, old_length - kept);
  const struct urxe_memory_hooks* target_hooks = target != NULL ? begin(target, new_length) : NULL;
  void* result = URXE_NEXT(mremap)(address, old_length, new_length, flags, target);
  end(target_hooks);
  end(hooks);
  return result;
}

static inline bool replaces(int flags) {
  return (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) == 0;
}

URXE_EXPORT void* mmap(void* address, size_t length, int protection, int flags, int fd,
                       off_t offset) {
  const struct urxe_memory_hooks* hooks = replaces(flags) ? begin(address, length) : NULL;
  void* result = URXE_NEXT(mmap)(address, length, protection, flags, fd, offset);
  end(hooks);
  return result;
}

URXE_EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int fd,
                         off64_t offset) {
  const struct urxe_memory_hooks* hooks = replaces(flags) ? begin(address, length) : NULL;
  void* result = URXE_NEXT(mmap64)(address, length, protection, flags, fd, offset);
  end(hooks);
  return result;
}

static inline bool forbids(int protection) {
  return (protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE);
}

URXE_EXPORT int mprotect(void* address, size_t length, int protection) {
  const struct urxe_memory_hooks* hooks = forbids(protection) ? begin(address, length) : NULL;
  int result = URXE_NEXT(mprotect)(address, length, protection);
  end(hooks);
  return result;
}

URXE_EXPORT int pkey_mprotect(void* address, size_t length, int protection, int key) {
  const struct urxe_memory_hooks* hooks = begin(address, length);
  int result = URXE_NEXT(pkey_mprotect)(address, length, protection, key);
  end(hooks);
  return result;
}

URXE_EXPORT int shmdt(const void* address) {
  const struct urxe_memory_hooks* hooks = begin(address, URXE_WHOLE_MAPPING);
  int result = URXE_NEXT(shmdt)(address);
  end(hooks);
  return result;
}

/// The hooks to end with after the break has moved down to `address`.
static const struct urxe_memory_hooks* begin_break(uintptr_t address) {
  if (URXE_LIKELY(current_hooks() == NULL)) return NULL;
  uintptr_t now = (uintptr_t)URXE_NEXT(sbrk)(0);
  return address < now ? begin((const void*)address, now - address) : NULL;
}

URXE_EXPORT int brk(void* address) {
  const struct urxe_memory_hooks* hooks = begin_break((uintptr_t)address);
  int result = URXE_NEXT(brk)(address);
  end(hooks);
  return result;
}

URXE_EXPORT void* sbrk(intptr_t increment) {
  const struct urxe_memory_hooks* hooks = NULL;
  if (increment < 0 && current_hooks() != NULL) {
    hooks = begin_break((uintptr_t)URXE_NEXT(sbrk)(0) + (uintptr_t)increment);
  }
  void* result = URXE_NEXT(sbrk)(increment);
  end(hooks);
  return result;
}

// The allocator gives memory back by calls of its own that nobody can stand in front of, and not
// only that of the block in question; but what it gives back has been freed.

static void first_free(void* block);
static void* first_realloc(void* block, size_t size);

static _Atomic(__typeof__(&free)) next_free = first_free;
static _Atomic(__typeof__(&realloc)) next_realloc = first_realloc;
static _Atomic(__typeof__(&malloc_usable_size)) next_usable_size;
static _Atomic(bool) finding;

void* __libc_realloc(void* block, size_t size);

/// False, and nothing done: called from within itself, as dlsym() may allocate, or by two threads
/// at once.
static bool find_allocator(void) {
  if (atomic_exchange(&finding, true)) return false;
  void* found_free = dlsym(RTLD_NEXT, "free");
  void* found_realloc = dlsym(RTLD_NEXT, "realloc");
  void* found_size = dlsym(RTLD_NEXT, "malloc_usable_size");
  atomic_store(&next_usable_size, (__typeof__(&malloc_usable_size))found_size);
  atomic_store(&next_realloc, (__typeof__(&realloc))found_realloc);
  atomic_store(&next_free, (__typeof__(&free))found_free);
  atomic_store(&finding, false);
  return true;
}

/// What is freed before the allocator is known stays: a few bytes at the start of a program.
static void first_free(void* block) {
  if (block != NULL && find_allocator()) atomic_load (&next_free)(block);
}

static void* first_realloc(void* block, size_t size) {
  return find_allocator() ? atomic_load(&next_realloc)(block, size) : __libc_realloc(block, size);
}

void urxe_set_memory_hooks(const struct urxe_memory_hooks* hooks) {
  if (atomic_load(&next_usable_size) == NULL) find_allocator();
  atomic_store(&memory_hooks, hooks);
}

static __attribute__((noinline)) const struct urxe_memory_hooks* begin_block(void* block) {
  __typeof__(&malloc_usable_size) usable_size =
      atomic_load_explicit(&next_usable_size, memory_order_relaxed);
  if (block == NULL || usable_size == NULL) return NULL;
  return begin(block, usable_size(block));
}

URXE_EXPORT void free(void* block) {
  __typeof__(&free) next = atomic_load_explicit(&next_free, memory_order_relaxed);
  if (URXE_LIKELY(current_hooks() == NULL)) {
    next(block);
    return;
  }
  const struct urxe_memory_hooks* hooks = begin_block(block);
  next(block);
  end(hooks);
}

URXE_EXPORT void* realloc(void* block, size_t size) {
  __typeof__(&realloc) next = atomic_load_explicit(&next_realloc, memory_order_relaxed);
  if (URXE_LIKELY(current_hooks() == NULL)) return next(block, size);
  const struct urxe_memory_hooks* hooks = begin_block(block);
  void* result = next(block, size);
  end(hooks);
  return result;
}
