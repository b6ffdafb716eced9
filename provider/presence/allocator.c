// SPDX-License-Identifier: BSD-2-Clause
/// The allocator. It gives memory back to the kernel by calls of its own that nobody can stand in
/// front of, and not only that of the block in question. But what it gives back has been freed, and
/// a page that has a byte of a block in use stays. Without a provider that asked, each call costs a
/// load and a branch more.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "provider/presence/memory.h"

static void* first_malloc(size_t size);
static void* first_calloc(size_t count, size_t size);
static void* first_realloc(void* block, size_t size);
static void first_free(void* block);

// The functions that this object's versions call.
static _Atomic(__typeof__(&malloc)) next_malloc = first_malloc;
static _Atomic(__typeof__(&calloc)) next_calloc = first_calloc;
static _Atomic(__typeof__(&realloc)) next_realloc = first_realloc;
static _Atomic(__typeof__(&free)) next_free = first_free;
static _Atomic(__typeof__(&memalign)) next_memalign;
static _Atomic(__typeof__(&aligned_alloc)) next_aligned_alloc;
static _Atomic(__typeof__(&posix_memalign)) next_posix_memalign;
static _Atomic(__typeof__(&malloc_usable_size)) next_usable_size;
static _Atomic(bool) is_libc;  ///< the blocks are those of libc's own allocator
static _Atomic(bool) finding;

// Of GNU's libc, also if another allocator takes the place of malloc(). Weak: musl has none of
// them, and its dlsym() does not allocate.
__attribute__((weak)) void* __libc_malloc(size_t size);
__attribute__((weak)) void* __libc_calloc(size_t count, size_t size);
__attribute__((weak)) void* __libc_realloc(void* block, size_t size);

static bool is_of_libc(void* function) {
  Dl_info function_info;
  Dl_info libc_info;
  void* in_libc = dlsym(RTLD_NEXT, "__libc_malloc");
  return dladdr(function, &function_info) != 0 && dladdr(in_libc, &libc_info) != 0 &&
         function_info.dli_fbase == libc_info.dli_fbase;
}

#define URXE_FIND(name) atomic_store(&next_##name, (__typeof__(&name))dlsym(RTLD_NEXT, #name))

bool urxe_find_allocator(void) {
  if (atomic_load(&next_usable_size) != NULL) return true;
  if (atomic_exchange(&finding, true)) {
    // GNU's dlsym() may allocate, and may wait for a lock that this thread has. musl's allocates
    // nothing.
    if (__libc_malloc != NULL) return false;
    while (atomic_load(&finding)) sched_yield();
    return true;
  }
  void* found_free = dlsym(RTLD_NEXT, "free");
  URXE_FIND(memalign);
  URXE_FIND(aligned_alloc);
  URXE_FIND(posix_memalign);
  URXE_FIND(malloc);
  URXE_FIND(calloc);
  URXE_FIND(realloc);
  atomic_store(&is_libc, is_of_libc(found_free));
  atomic_store(&next_free, (__typeof__(&free))found_free);
  atomic_store(&next_usable_size,
               (__typeof__(&malloc_usable_size))dlsym(RTLD_NEXT, "malloc_usable_size"));
  atomic_store(&finding, false);
  return true;
}

// Until the allocator is found, which may allocate itself.

static void* fail_without_memory(void) {
  errno = ENOMEM;
  return NULL;
}

static void* first_malloc(size_t size) {
  if (urxe_find_allocator()) return atomic_load(&next_malloc)(size);
  return __libc_malloc != NULL ? __libc_malloc(size) : fail_without_memory();
}

static void* first_calloc(size_t count, size_t size) {
  if (urxe_find_allocator()) return atomic_load(&next_calloc)(count, size);
  return __libc_calloc != NULL ? __libc_calloc(count, size) : fail_without_memory();
}

static void* first_realloc(void* block, size_t size) {
  if (urxe_find_allocator()) return atomic_load(&next_realloc)(block, size);
  return __libc_realloc != NULL ? __libc_realloc(block, size) : fail_without_memory();
}

/// What is freed before the allocator is known stays: a few bytes at the start of a program.
static void first_free(void* block) {
  if (block != NULL && urxe_find_allocator()) atomic_load (&next_free)(block);
}

#define URXE_NEXT_OF(name) atomic_load_explicit(&next_##name, memory_order_relaxed)

/// Whether libc has mapped this block by itself, which its free() unmaps: so says a bit of the word
/// in front of it, since there is a GNU libc. Another allocator's blocks may have no memory there.
static bool is_a_mapping(const void* block) {
  if (!atomic_load_explicit(&is_libc, memory_order_relaxed)) return false;
  size_t head;
  memcpy(&head, (const char*)block - sizeof(head), sizeof(head));
  return (head & 2) != 0;
}

static __attribute__((noinline)) struct urxe_taking begin_block(void* block) {
  __typeof__(&malloc_usable_size) usable_size = URXE_NEXT_OF(usable_size);
  if (block == NULL || usable_size == NULL) return kUrxeNothingTaken;
  return urxe_begin_loss(block, usable_size(block),
                         is_a_mapping(block) ? URXE_GONE : URXE_UNCERTAIN);
}

static __attribute__((noinline)) void* note_block(const struct urxe_memory_hooks* hooks,
                                                  void* block, bool same) {
  int saved_errno = errno;
  __typeof__(&malloc_usable_size) usable_size = URXE_NEXT_OF(usable_size);
  if (block != NULL && usable_size != NULL) {
    hooks->allocated(block, usable_size(block), same ? 1 : 0);
  }
  errno = saved_errno;
  return block;
}

static inline void* note(void* block) {
  const struct urxe_memory_hooks* hooks = urxe_current_memory_hooks();
  return URXE_LIKELY(hooks == NULL) ? block : note_block(hooks, block, false);
}

URXE_EXPORT void* malloc(size_t size) {
  return note(URXE_NEXT_OF(malloc)(size));
}

URXE_EXPORT void* calloc(size_t count, size_t size) {
  return note(URXE_NEXT_OF(calloc)(count, size));
}

URXE_EXPORT void* memalign(size_t alignment, size_t size) {
  if (!urxe_find_allocator()) return fail_without_memory();
  return note(URXE_NEXT_OF(memalign)(alignment, size));
}

URXE_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  if (!urxe_find_allocator()) return fail_without_memory();
  return note(URXE_NEXT_OF(aligned_alloc)(alignment, size));
}

URXE_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
  if (!urxe_find_allocator()) return ENOMEM;
  int result = URXE_NEXT_OF(posix_memalign)(block, alignment, size);
  if (result == 0) note(*block);
  return result;
}

URXE_EXPORT void free(void* block) {
  if (URXE_LIKELY(urxe_current_memory_hooks() == NULL)) {
    URXE_NEXT_OF(free)(block);
    return;
  }
  const struct urxe_taking taking = begin_block(block);
  URXE_NEXT_OF(free)(block);
  urxe_end_loss(&taking, false);
}

static __attribute__((noinline)) void* watched_realloc(void* block, size_t size) {
  const struct urxe_taking taking = begin_block(block);
  void* result = URXE_NEXT_OF(realloc)(block, size);
  // Without a result the old block is as it was, unless it was freed (size 0).
  bool failed = result == NULL && size != 0;
  const struct urxe_memory_hooks* hooks = urxe_current_memory_hooks();
  // Before the end, by which only what is left of the old block goes.
  if (hooks != NULL && result != NULL && result == block) note_block(hooks, result, true);
  urxe_end_loss(&taking, failed);
  if (hooks == NULL || result == block) return result;
  if (failed && block != NULL) note_block(hooks, block, false);
  return note_block(hooks, result, false);
}

URXE_EXPORT void* realloc(void* block, size_t size) {
  if (URXE_LIKELY(urxe_current_memory_hooks() == NULL)) return URXE_NEXT_OF(realloc)(block, size);
  return watched_realloc(block, size);
}
