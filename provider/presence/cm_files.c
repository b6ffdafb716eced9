// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/cm_files.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/next.h"

static _Atomic(const struct urxe_cm_hooks*) cm_hooks;

void urxe_set_cm_hooks(const struct urxe_cm_hooks* hooks) {
  atomic_store(&cm_hooks, hooks);
}

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
  return library != NULL ? library : dlopen("libibverbs.so.1", RTLD_NOW);
}

/// libibverbs loads the providers when it lists the devices. All releases of librdmacm list them
/// before they open the node; this is for programs that open the node themselves.
static __attribute__((noinline)) const struct urxe_cm_hooks* load_provider(void) {
  void** (*get_device_list)(int*);
  void (*free_device_list)(void**);
  void* library = open_libibverbs();
  if (library == NULL || !find_function(library, "ibv_get_device_list", (void*)&get_device_list) ||
      !find_function(library, "ibv_free_device_list", (void*)&free_device_list)) {
    return NULL;
  }
  void** list = get_device_list(NULL);
  if (list != NULL) free_device_list(list);
  return atomic_load(&cm_hooks);
}

int urxe_open_cm_node(const char* stand_in, int flags, unsigned mode) {
  // Commands need a descriptor that can be written. The kernel refuses to create the node, and to
  // open it as a directory.
  bool only_looks = (flags & O_ACCMODE) == O_RDONLY || (flags & (O_PATH | O_DIRECTORY)) != 0 ||
                    (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  if (only_looks) return URXE_NEXT(open)(stand_in, flags, mode);
  const struct urxe_cm_hooks* hooks = atomic_load(&cm_hooks);
  if (hooks == NULL) hooks = load_provider();
  if (hooks == NULL) {
    errno = ENODEV;
    return -1;
  }
  int fd = hooks->open(flags);
  if (fd >= 0) urxe_fd_set_add(&urxe_nodes, fd);
  return fd;
}

bool urxe_is_cm_file(int fd) {
  const struct urxe_cm_hooks* hooks = atomic_load(&cm_hooks);
  return hooks != NULL && hooks->is_file(fd) != 0;
}

ssize_t urxe_write_to_cm_file(int fd, const void* buffer, size_t length) {
  return atomic_load(&cm_hooks)->write(fd, buffer, length);
}
