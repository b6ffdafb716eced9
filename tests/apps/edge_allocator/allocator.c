// SPDX-License-Identifier: BSD-2-Clause
/// An allocator to preload, whose every block starts a mapping: the page in front of it cannot be
/// read. jemalloc's larger blocks lie so now and then.
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { kPage = 4096, kFront = 2 * kPage };

/// At the start of the mapping, before the page that cannot be read.
struct head {
  char* mapping;
  size_t mapping_length;
  size_t size;
};

static struct head* head_of(void* block) {
  return (struct head*)((char*)block - kFront);
}

/// By system calls, since the preloaded object's mmap() may have to allocate.
static void* allocate(size_t alignment, size_t size) {
  size_t length;
  if (__builtin_add_overflow(size, kFront + alignment, &length)) return NULL;
  const long mapped =
      syscall(SYS_mmap, NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (mapped == -1) return NULL;
  char* block = (char*)(((uintptr_t)mapped + kFront + alignment - 1) & ~(alignment - 1));
  *head_of(block) = (struct head){(char*)mapped, length, size};
  syscall(SYS_mprotect, block - kPage, (size_t)kPage, PROT_NONE);
  return block;
}

static size_t at_least_a_page(size_t alignment) {
  return alignment > kPage ? alignment : kPage;
}

EXPORT void* memalign(size_t alignment, size_t size) {
  void* block = allocate(at_least_a_page(alignment), size);
  if (block == NULL) errno = ENOMEM;
  return block;
}

EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
  void* allocated = allocate(at_least_a_page(alignment), size);
  if (allocated == NULL) return ENOMEM;
  *block = allocated;
  return 0;
}

EXPORT void* malloc(size_t size) {
  return memalign(kPage, size);
}

EXPORT void* calloc(size_t count, size_t size) {
  size_t all;
  if (!__builtin_mul_overflow(count, size, &all)) return malloc(all);
  errno = ENOMEM;
  return NULL;
}

EXPORT void free(void* block) {
  if (block == NULL) return;
  const struct head head = *head_of(block);
  syscall(SYS_munmap, head.mapping, head.mapping_length);
}

EXPORT size_t malloc_usable_size(void* block) {
  return block != NULL ? head_of(block)->size : 0;
}

EXPORT void* realloc(void* block, size_t size) {
  void* other = malloc(size);
  if (other == NULL || block == NULL) return other;
  const size_t old = malloc_usable_size(block);
  memcpy(other, block, old < size ? old : size);
  free(block);
  return other;
}
