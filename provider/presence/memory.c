// SPDX-License-Identifier: BSD-2-Clause
/// The calls that take memory away. A NIC's memory regions hold their pages; the provider's are the
/// application's own addresses, so it has to hear of such a call before it is carried out. The rule
/// is in provider/runtime/memory/unmap_watch.h; the allocator's calls are in allocator.c. Without a
/// provider that asked, each costs a load and a branch more.
///
/// UCX and libfabric also want to hear of these calls. They write a jump over the first bytes of
/// the functions, by which they hear of libc's own calls, too. It has to be libc's functions that
/// they find, not these: UCX looks by dlsym(RTLD_NEXT), and where libc was loaded before UCX, as
/// for MPICH, by dlsym(RTLD_DEFAULT). So those that they look for are exported only as an old
/// version of libc's names, which such a search passes over: everything that was linked with libc
/// asks for that version. For sanitizers there is unversioned.c.
#include "provider/presence/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "provider/presence/next.h"
#include "provider/presence/versioned.h"

_Atomic(const struct urxe_memory_hooks*) urxe_memory_hooks;

void urxe_set_memory_hooks(const struct urxe_memory_hooks* hooks) {
  urxe_find_allocator();
  atomic_store(&urxe_memory_hooks, hooks);
}

static uintptr_t round_to_page(uintptr_t address) {
  const uintptr_t page = (uintptr_t)getpagesize();
  return (address + page - 1) & ~(page - 1);
}

static bool starts_a_page(const void* address) {
  return round_to_page((uintptr_t)address) == (uintptr_t)address;
}

static bool is_mapped(const void* address, size_t length) {
  enum { kPagesAtOnce = 1024 };
  unsigned char pages[kPagesAtOnce];
  const size_t most = kPagesAtOnce * (size_t)getpagesize();
  for (size_t done = 0; done < length; done += most) {
    size_t left = length - done;
    if (mincore((char*)address + done, left < most ? left : most, pages) != 0) return false;
  }
  return true;
}

/// Whether a call that was to replace what is mapped has failed before it took that away. Some
/// errors come later; then there is a hole, which another thread may have filled since.
static bool has_left(const void* address, size_t length) {
  int saved_errno = errno;
  bool comes_before = errno == EBADF || errno == EINVAL || errno == EACCES || errno == EPERM ||
                      errno == EOVERFLOW || errno == EFAULT;
  bool left = comes_before && is_mapped(address, length);
  errno = saved_errno;
  return left;
}

URXE_VERSIONED(munmap)
int urxe_versioned_munmap(void* address, size_t length) {
  // Refused by the kernel, which is the usual way to fail: nothing is lost.
  const struct urxe_taking taking =
      starts_a_page(address) ? urxe_begin_loss(address, length, URXE_GONE) : kUrxeNothingTaken;
  int result = URXE_NEXT(munmap)(address, length);
  urxe_end_loss(&taking, result != 0);
  return result;
}

/// Only the pages of the tail go if the mapping shrinks in place, and nothing if it grows.
/// Whether it stays in place is known afterwards if it may move.
URXE_VERSIONED(mremap)
void* urxe_versioned_mremap(void* address, size_t old_length, size_t new_length, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const bool has_target = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0;
  void* target = has_target ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  const bool may_move = (flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) != 0;
  const size_t rounded = round_to_page(new_length);
  const size_t kept = rounded < old_length ? rounded : old_length;
  struct urxe_taking kept_taking = kUrxeNothingTaken;
  struct urxe_taking tail_taking = kUrxeNothingTaken;
  if (starts_a_page(address)) {
    if (may_move && kept > 0) kept_taking = urxe_begin_loss(address, kept, URXE_GONE);
    if (old_length > kept) {
      tail_taking = urxe_begin_loss((const char*)address + kept, old_length - kept, URXE_GONE);
    }
  }
  // Without MREMAP_FIXED it is only where the kernel looks first.
  const bool replaces = (flags & MREMAP_FIXED) != 0 && target != NULL;
  const struct urxe_taking target_taking = replaces && starts_a_page(target)
                                               ? urxe_begin_loss(target, new_length, URXE_GONE)
                                               : kUrxeNothingTaken;
  void* result = URXE_NEXT(mremap)(address, old_length, new_length, flags, target);
  const bool failed = result == MAP_FAILED;
  urxe_end_loss(&target_taking, failed && has_left(target, new_length));
  // With a target, a tail is cut off first.
  const bool cuts_first = target != NULL && old_length > new_length;
  const bool is_left = failed && (!cuts_first || has_left(address, old_length));
  urxe_end_loss(&tail_taking, is_left);
  urxe_end_loss(&kept_taking, is_left || result == address);
  return result;
}

static inline bool replaces(const void* address, int flags) {
  return (flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) == 0 && starts_a_page(address);
}

URXE_VERSIONED(mmap)
void* urxe_versioned_mmap(void* address, size_t length, int protection, int flags, int fd,
                          off_t offset) {
  const struct urxe_taking taking =
      replaces(address, flags) ? urxe_begin_loss(address, length, URXE_GONE) : kUrxeNothingTaken;
  void* result = URXE_NEXT(mmap)(address, length, protection, flags, fd, offset);
  urxe_end_loss(&taking, result == MAP_FAILED && has_left(address, length));
  return result;
}

URXE_VERSIONED(mmap64)
void* urxe_versioned_mmap64(void* address, size_t length, int protection, int flags, int fd,
                            off64_t offset) {
  const struct urxe_taking taking =
      replaces(address, flags) ? urxe_begin_loss(address, length, URXE_GONE) : kUrxeNothingTaken;
  void* result = URXE_NEXT(mmap64)(address, length, protection, flags, fd, offset);
  urxe_end_loss(&taking, result == MAP_FAILED && has_left(address, length));
  return result;
}

/// Maps another part of the file there.
URXE_EXPORT int remap_file_pages(void* address, size_t length, int protection, size_t offset,
                                 int flags) {
  const void* const begin = (const void*)((uintptr_t)address & ~(round_to_page(1) - 1));
  const struct urxe_taking taking = urxe_begin_loss(begin, length, URXE_GONE);
  int result = URXE_NEXT(remap_file_pages)(address, length, protection, offset, flags);
  urxe_end_loss(&taking, result != 0 && has_left(begin, length));
  return result;
}

static inline bool forbids(int protection) {
  return (protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE);
}

URXE_EXPORT int mprotect(void* address, size_t length, int protection) {
  const struct urxe_taking taking =
      forbids(protection) ? urxe_begin_loss(address, length, URXE_UNCERTAIN) : kUrxeNothingTaken;
  int result = URXE_NEXT(mprotect)(address, length, protection);
  urxe_end_loss(&taking, result != 0);
  return result;
}

URXE_EXPORT int pkey_mprotect(void* address, size_t length, int protection, int key) {
  const struct urxe_taking taking = urxe_begin_loss(address, length, URXE_UNCERTAIN);
  int result = URXE_NEXT(pkey_mprotect)(address, length, protection, key);
  urxe_end_loss(&taking, result != 0);
  return result;
}

/// With SHM_REMAP the segment takes the place of what is mapped there.
URXE_VERSIONED(shmat)
void* urxe_versioned_shmat(int id, const void* address, int flags) {
  struct urxe_taking taking = kUrxeNothingTaken;
  const void* begin = address;
  struct shmid_ds segment;
  segment.shm_segsz = 0;
  if ((flags & SHM_REMAP) != 0 && urxe_current_memory_hooks() != NULL) {
    int saved_errno = errno;
    // SHMLBA is the size of a page, by a function that musl does not have.
    const uintptr_t page = (uintptr_t)getpagesize();
    if ((flags & SHM_RND) != 0) begin = (const void*)((uintptr_t)address & ~(page - 1));
    bool is_known = shmctl(id, IPC_STAT, &segment) == 0;
    errno = saved_errno;
    if (is_known && starts_a_page(begin)) {
      taking = urxe_begin_loss(begin, segment.shm_segsz, URXE_GONE);
    }
  }
  void* result = URXE_NEXT(shmat)(id, address, flags);
  urxe_end_loss(&taking, result == (void*)-1 && has_left(begin, segment.shm_segsz));
  return result;
}

URXE_VERSIONED(shmdt)
int urxe_versioned_shmdt(const void* address) {
  const struct urxe_taking taking = urxe_begin_loss(address, URXE_WHOLE_MAPPING, URXE_GONE);
  int result = URXE_NEXT(shmdt)(address);
  urxe_end_loss(&taking, result != 0);
  return result;
}

/// Before the break moves down to `address`, which takes whole pages.
static struct urxe_taking begin_break(uintptr_t address) {
  if (URXE_LIKELY(urxe_current_memory_hooks() == NULL)) return kUrxeNothingTaken;
  uintptr_t now = (uintptr_t)URXE_NEXT(sbrk)(0);
  uintptr_t from = round_to_page(address);
  return from < now ? urxe_begin_loss((const void*)from, now - from, URXE_GONE) : kUrxeNothingTaken;
}

URXE_VERSIONED(brk)
int urxe_versioned_brk(void* address) {
  const struct urxe_taking taking = begin_break((uintptr_t)address);
  int result = URXE_NEXT(brk)(address);
  // The C library does not tell that the kernel has refused an address below the heap.
  const bool stays = result != 0 || (uintptr_t)URXE_NEXT(sbrk)(0) != (uintptr_t)address;
  urxe_end_loss(&taking, stays);
  return result;
}

URXE_VERSIONED(sbrk)
void* urxe_versioned_sbrk(intptr_t increment) {
  struct urxe_taking taking = kUrxeNothingTaken;
  if (increment < 0 && urxe_current_memory_hooks() != NULL) {
    taking = begin_break((uintptr_t)URXE_NEXT(sbrk)(0) + (uintptr_t)increment);
  }
  void* result = URXE_NEXT(sbrk)(increment);
  urxe_end_loss(&taking, result == (void*)-1);
  return result;
}
