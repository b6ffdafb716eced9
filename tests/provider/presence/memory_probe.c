// SPDX-License-Identifier: BSD-2-Clause
/// Has hooks installed, as a provider would, and takes memory away in each way that there is.
/// Prints what the hooks were told: the way, then "+offset length" of what is about to go, a dot
/// for the end.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "provider/presence/presence_abi.h"

// kPage is a multiple of any machine's.
enum { kPage = 65536, kBytes = 8 * kPage, kMost = 16 };

static const char* base;  // what offsets count from
static struct {
  long offset;
  size_t length;
  int loss;  ///< urxe_loss; 0: the end; -1: a block is there; -3: the end of a call in vain
} calls[kMost];
static int call_count;

static void note(const void* address, size_t length, int loss) {
  if (call_count < kMost) {
    calls[call_count].offset = (long)((uintptr_t)address - (uintptr_t)base);
    calls[call_count].length = length;
    calls[call_count++].loss = loss;
  }
}

static int before(const void* address, size_t* length, int loss) {
  note(address, *length, loss);
  return 1;
}

static void after(int begun, const void* address, size_t length, int unchanged) {
  (void)address;
  (void)length;
  if (call_count < kMost) calls[call_count++].loss = unchanged == 0 ? 0 : -3;
  if (begun != 1) abort();
}

static void allocated(const void* block, size_t length, int same) {
  note(block, length, same ? -2 : -1);
}

enum { kMoment = 7 };
static int moments;
static uint64_t unloaded_since;  ///< what an `unloaded` was told whose range is that of a library
static const char* library;      ///< an address in it

static uint64_t this_moment(void) {
  ++moments;
  return kMoment;
}

static void unloaded(const void* address, size_t length, uint64_t moment) {
  if (library >= (const char*)address && library < (const char*)address + length) {
    unloaded_since = moment;
  }
}

static const struct urxe_memory_hooks kHooks = {before, after, allocated, this_moment, unloaded};
static const struct urxe_presence* presence;

static void watch_from(const void* from) {
  base = from;
  call_count = 0;
  presence->set_memory_hooks(&kHooks);
}

static void report(const char* way, bool done) {
  presence->set_memory_hooks(NULL);
  printf("%s%s:", way, done ? "" : " FAILED");
  for (int i = 0; i < call_count; ++i) {
    static const char* const kNames[] = {"in vain", "same", "there", "", "uncertain", "gone"};
    const char* name = kNames[calls[i].loss + 3];
    if (calls[i].loss == -3) {
      printf(" %s.", name);
    } else if (calls[i].loss == 0) {
      printf(" .");
    } else if (calls[i].length == URXE_WHOLE_MAPPING) {
      printf(" %s %+ld whole", name, calls[i].offset);
    } else {
      printf(" %s %+ld %zu", name, calls[i].offset, calls[i].length);
    }
  }
  printf("\n");
}

static char* map(void) {
  return mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_mappings(void) {
  char* at = map();
  watch_from(at);
  report("munmap", munmap(at + kPage, kPage) == 0);
  watch_from(at);
  report("munmap badly", munmap(at + 1, kPage) == -1 && errno == EINVAL);
  watch_from(at);
  report("mprotect", mprotect(at, kPage, PROT_READ) == 0);
  watch_from(at);
  report("mprotect to all", mprotect(at, kPage, PROT_READ | PROT_WRITE) == 0);
  watch_from(at);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  report("mmap over", mmap(at, kPage, PROT_READ, flags | MAP_FIXED, -1, 0) == at);
  watch_from(at);
  report("mmap64 over", mmap64(at, kPage, PROT_READ, flags | MAP_FIXED, -1, 0) == at);
  watch_from(at);
  void* other = mmap(at, kPage, PROT_READ, flags, -1, 0);
  report("mmap elsewhere", other != MAP_FAILED && other != at);
  munmap(at, kBytes);
}

static void try_moves(void) {
  char* at = map();
  watch_from(at);
  report("mremap smaller", mremap(at, kBytes, kPage, 0) == at);
  munmap(at, kPage);
  at = map();
  watch_from(at);
  report("mremap smaller, might move", mremap(at, kBytes, kPage, MREMAP_MAYMOVE) == at);
  watch_from(at);
  report("mremap to what it is, might move", mremap(at, kPage, kPage, MREMAP_MAYMOVE) == at);
  munmap(at, kPage);
  at = map();
  char* target = map();
  watch_from(at);
  void* moved = mremap(at, kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  presence->set_memory_hooks(NULL);
  for (int i = 0; i < call_count; ++i) {
    if (calls[i].loss != 0 && calls[i].offset == target - at) calls[i].offset = -1;
  }
  report("mremap over", moved == target);
  char* from = map();
  target = map();
  munmap(target, kBytes);
  watch_from(from);
  // Without MREMAP_FIXED the target is where the kernel looks first.
  moved = mremap(from, kPage, kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, target);
  report("mremap of a copy", moved == target);
  munmap(from, kBytes);
  munmap(moved, kPage);
  munmap(at + kPage, kBytes - kPage);
  munmap(target, kBytes);
}

/// Calls that fail. What they were to take away stays, if the kernel refuses them at once.
static void try_in_vain(void) {
  char* at = map();
  int flags = MAP_PRIVATE | MAP_FIXED;
  watch_from(at);
  report("mmap of no file", mmap(at, kPage, PROT_READ, flags, -1, 0) == MAP_FAILED);
  watch_from(at);
  report("mmap at no page",
         mmap(at + 1, kPage, PROT_READ, flags | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  watch_from(at);
  report("mremap to too much",
         mremap(at, kPage, (size_t)1 << 46, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
  char* hole = map();
  munmap(hole, kBytes);
  watch_from(hole);
  report("mmap of no file over nothing", mmap(hole, kPage, PROT_READ, flags, -1, 0) == MAP_FAILED);
  watch_from(at);
  report("shmdt of no segment", shmdt(at) == -1);
  watch_from(at);
  report("remap_file_pages of no file", remap_file_pages(at, kPage, 0, 0, 0) == -1);
  munmap(at, kBytes);
}

static void try_replacements(void) {
  int id = shmget(IPC_PRIVATE, kPage, IPC_CREAT | 0600);
  char* at = map();
  watch_from(at);
  report("shmat over", shmat(id, at + kPage + 1, SHM_REMAP | SHM_RND) == at + kPage);
  watch_from(at);
  void* elsewhere = shmat(id, NULL, 0);
  report("shmat elsewhere", elsewhere != (void*)-1);
  shmctl(id, IPC_RMID, NULL);
  shmdt(elsewhere);
  munmap(at, kBytes);
  int fd = memfd_create("probe", MFD_CLOEXEC);
  if (ftruncate(fd, kBytes) != 0) return;
  at = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  watch_from(at);
  report("remap_file_pages", remap_file_pages(at + kPage, kPage, 0, 5, 0) == 0);
  munmap(at, kBytes);
  close(fd);
}

static void try_others(void) {
  int id = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  char* segment = shmat(id, NULL, 0);
  shmctl(id, IPC_RMID, NULL);
  watch_from(segment);
  report("shmdt", shmdt(segment) == 0);
  char* end_of_data = sbrk(kPage);
  watch_from(end_of_data);
  report("sbrk up", sbrk(kPage) == end_of_data + kPage);
  watch_from(end_of_data);
  report("sbrk down", sbrk(-kPage) == end_of_data + 2 * kPage);
  watch_from(end_of_data);
  report("brk down", brk(end_of_data) == 0);
  // glibc says that it has succeeded.
  watch_from(end_of_data);
  (void)!brk(NULL);
  presence->set_memory_hooks(NULL);
  const bool is_in_vain = call_count > 0 && calls[call_count - 1].loss == -3;
  printf("brk below the heap: %s\n", is_in_vain ? "in vain" : "done");
}

/// Lengths of blocks are the allocator's: 1 where it is that of the block.
static void hide_length(size_t usable) {
  presence->set_memory_hooks(NULL);
  for (int i = 0; i < call_count; ++i) {
    if (calls[i].length == usable) calls[i].length = 1;
  }
}

static void try_block(const char* way, size_t length) {
  watch_from(NULL);
  char* block = malloc(length);
  for (int i = 0; i < call_count; ++i) calls[i].offset -= (long)(uintptr_t)block;
  base = block;
  size_t usable = malloc_usable_size(block);
  free(block);
  hide_length(usable);
  report(way, usable >= length);
}

static void try_reallocation(const char* way, size_t from, size_t to) {
  char* block = malloc(from);
  strcpy(block, "kept");
  size_t usable = malloc_usable_size(block);
  watch_from(block);
  char* result = realloc(block, to);
  presence->set_memory_hooks(NULL);
  size_t new_usable = malloc_usable_size(result);
  for (int i = 0; i < call_count; ++i) {
    if (calls[i].offset == result - base) calls[i].offset = 0;
    if (calls[i].length == new_usable && i != 0) calls[i].length = 2;
  }
  hide_length(usable);
  report(way, strcmp(result, "kept") == 0);
  free(result);
}

static void try_blocks(void) {
  try_block("malloc and free", 100000);
  try_block("malloc and free of a mapping", 40 << 20);
  watch_from(NULL);
  free(NULL);
  report("free nothing", true);
  try_reallocation("realloc", 1000, 100000);
  try_reallocation("realloc to less", 100000, 1000);
  try_reallocation("realloc of a mapping to less", 40 << 20, 36 << 20);
  void* block = NULL;
  watch_from(NULL);
  bool done = posix_memalign(&block, kPage, kBytes) == 0;
  base = block;
  presence->set_memory_hooks(NULL);
  for (int i = 0; i < call_count; ++i) calls[i].offset -= (long)(uintptr_t)block;
  hide_length(malloc_usable_size(block));
  report("posix_memalign", done);
  free(block);
}

/// Of a library that nothing else has loaded.
static void try_unloading(void) {
  void* handle = dlopen("libresolv.so.2", RTLD_NOW);
  library = handle != NULL ? dlsym(handle, "ns_get16") : NULL;
  if (library == NULL && handle != NULL) library = dlsym(handle, "__dn_skipname");
  watch_from(NULL);
  dlclose(handle);
  presence->set_memory_hooks(NULL);
  printf("dlclose:%s unloaded %d\n", moments == 1 ? " moment" : "", (int)unloaded_since);
}

static const char* object_of(const void* function) {
  Dl_info info;
  if (function == NULL || dladdr(function, &info) == 0) return "nothing";
  return strstr(info.dli_fname, "urxe-presence") != NULL ? "urxe" : "another object";
}

/// Whoever looks for a function to write over finds libc's.
static void try_names(void) {
  static const char* const kNames[] = {"munmap", "mremap", "mmap", "mmap64", "shmat",
                                       "shmdt",  "brk",    "sbrk", "madvise"};
  for (size_t i = 0; i < sizeof(kNames) / sizeof(kNames[0]); ++i) {
    printf("%s: default %s, next %s\n", kNames[i], object_of(dlsym(RTLD_DEFAULT, kNames[i])),
           object_of(dlsym(RTLD_NEXT, kNames[i])));
  }
}

int main(void) {
  void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
  if (symbol == NULL) return 1;
  urxe_presence_v1_function find;
  memcpy(&find, &symbol, sizeof(find));
  presence = find();
  if (presence->version < 5) return 2;
  setvbuf(stdout, NULL, _IOFBF, 65536);
  printf("first\n");  // the buffer is there before anything is watched
  try_mappings();
  try_moves();
  try_in_vain();
  try_replacements();
  try_others();
  try_blocks();
  try_unloading();
  try_names();
  return 0;
}
