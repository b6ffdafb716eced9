// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/callers.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static bool starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

const char* urxe_object_of(const void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return "";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != NULL ? slash + 1 : info.dli_fname;
}

/// libibverbs and librdmacm open their netlink sockets through libnl-3. One that a program brings
/// along may have more in its name: "libnl-3-5f2d.so.200" in a Python wheel.
bool urxe_is_verbs_library(const char* name) {
  const bool is_libnl = starts_with(name, "libnl-3.") || starts_with(name, "libnl-3-");
  return is_libnl || starts_with(name, "libibverbs") || starts_with(name, "librdmacm");
}

bool urxe_is_sanitizer(const char* name) {
  return starts_with(name, "libtsan") || starts_with(name, "libasan") ||
         starts_with(name, "libclang_rt");
}
