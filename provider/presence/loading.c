// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/loading.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "provider/presence/next.h"

/// Whether libibverbs was loaded here, and not by the program.
static atomic_bool is_ours;

/// Whether this thread loads the provider just now.
static _Thread_local bool is_loading;

/// Stores a function of libibverbs in the pointer at `function`; false: there is none.
static bool find_function(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof(symbol));
  return symbol != NULL;
}

/// Copies the path of the first loaded object whose name begins with "libibverbs" to `result`,
/// which has room for PATH_MAX bytes.
static int take_libibverbs(struct dl_phdr_info* object, size_t size, void* result) {
  (void)size;
  const char* slash = strrchr(object->dlpi_name, '/');
  const char* name = slash != NULL ? slash + 1 : object->dlpi_name;
  const size_t length = strlen(object->dlpi_name);
  if (strncmp(name, "libibverbs", strlen("libibverbs")) != 0 || length >= PATH_MAX) return 0;
  memcpy(result, object->dlpi_name, length + 1);
  return 1;
}

/// The libibverbs that the process has, by whatever name; otherwise the system's.
static void* open_libibverbs(void) {
  char path[PATH_MAX];
  void* library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL && dl_iterate_phdr(take_libibverbs, path) != 0) {
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  }
  if (library != NULL) return library;
  atomic_store(&is_ours, true);
  return dlopen("libibverbs.so.1", RTLD_NOW);
}

__attribute__((noinline)) bool urxe_program_has_libibverbs(void) {
  char path[PATH_MAX];
  return !atomic_load(&is_ours) && dl_iterate_phdr(take_libibverbs, path) != 0;
}

bool urxe_is_loading_provider(void) {
  return is_loading;
}

// libibverbs loads the providers when it lists the devices.
static void list_devices(void) {
  void** (*get_device_list)(int*);
  void (*free_device_list)(void**);
  void* library = open_libibverbs();
  if (library == NULL || !find_function(library, "ibv_get_device_list", (void*)&get_device_list) ||
      !find_function(library, "ibv_free_device_list", (void*)&free_device_list)) {
    return;
  }
  void** list = get_device_list(NULL);
  if (list != NULL) free_device_list(list);
}

__attribute__((noinline)) void urxe_load_provider(void) {
  if (is_loading) return;
  is_loading = true;
  list_devices();
  is_loading = false;
}
