// SPDX-License-Identifier: BSD-2-Clause
/// dlclose(): libc unmaps a library by calls of its own. Whether it will, and which others go with
/// it, is known only afterwards. So the library's memory is uncertain before the call, and what had
/// been registered before it is gone where something has been unloaded.
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/presence/memory.h"
#include "provider/presence/next.h"

/// Of more, those that were loaded last count: they come last in libc's list.
enum { kMostObjects = 256 };

struct objects {
  size_t count;
  struct {
    uintptr_t begin;  ///< 0: none, or it is still there
    uintptr_t end;
  } range[kMostObjects];
};

/// The pages from an object's first segment to its last, which libc maps, and unmaps, in one piece.
static void find_pages(const struct dl_phdr_info* object, uintptr_t* begin, uintptr_t* end) {
  const uintptr_t page = (uintptr_t)getpagesize();
  *begin = UINTPTR_MAX;
  *end = 0;
  for (size_t i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t first = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
    uintptr_t last =
        (object->dlpi_addr + segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);
    if (first < *begin) *begin = first;
    if (last > *end) *end = last;
  }
}

static int note_object(struct dl_phdr_info* object, size_t size, void* all) {
  (void)size;
  struct objects* objects = all;
  const size_t place = objects->count++ % kMostObjects;
  find_pages(object, &objects->range[place].begin, &objects->range[place].end);
  return 0;
}

static int strike_object(struct dl_phdr_info* object, size_t size, void* all) {
  (void)size;
  struct objects* objects = all;
  uintptr_t begin;
  uintptr_t end;
  find_pages(object, &begin, &end);
  for (size_t i = 0; i < kMostObjects && i < objects->count; ++i) {
    if (objects->range[i].begin == begin && objects->range[i].end == end) {
      objects->range[i].begin = 0;
    }
  }
  return 0;
}

struct own_pages {
  uintptr_t base;
  uintptr_t begin;
  uintptr_t end;
};

static int find_own_pages(struct dl_phdr_info* object, size_t size, void* own) {
  (void)size;
  struct own_pages* pages = own;
  if (object->dlpi_addr != pages->base) return 0;
  find_pages(object, &pages->begin, &pages->end);
  return 1;
}

static struct urxe_taking begin_unloading(void* library) {
  struct link_map* map = NULL;
  if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return kUrxeNothingTaken;
  struct own_pages own = {map->l_addr, 0, 0};
  if (dl_iterate_phdr(find_own_pages, &own) == 0) return kUrxeNothingTaken;
  return urxe_begin_loss((const void*)own.begin, own.end - own.begin, URXE_UNCERTAIN);
}

URXE_EXPORT int dlclose(void* library) {
  const struct urxe_memory_hooks* hooks = urxe_current_memory_hooks();
  if (URXE_LIKELY(hooks == NULL)) return URXE_NEXT(dlclose)(library);
  const uint64_t moment = hooks->moment();
  struct objects objects;
  objects.count = 0;
  dl_iterate_phdr(note_object, &objects);
  const struct urxe_taking unloading = begin_unloading(library);
  int result = URXE_NEXT(dlclose)(library);
  dl_iterate_phdr(strike_object, &objects);
  for (size_t i = 0; i < kMostObjects && i < objects.count; ++i) {
    const uintptr_t begin = objects.range[i].begin;
    if (begin == 0 || begin >= objects.range[i].end) continue;
    hooks->unloaded((const void*)begin, objects.range[i].end - begin, moment);
  }
  urxe_end_loss(&unloading, false);
  return result;
}
