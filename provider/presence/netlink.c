// SPDX-License-Identifier: BSD-2-Clause
/// libibverbs lists devices by RDMA netlink, and reads sysfs, where urxe's devices are, only if
/// there is no such netlink. So its socket() fails; it finds the machine's real devices in sysfs as
/// well. Other programs, such as iproute2's `rdma`, keep their netlink.
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>

#include "provider/presence/next.h"

static bool starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/// libibverbs and librdmacm open their netlink sockets through libnl-3. One that a program brings
/// along may have more in its name: "libnl-3-5f2d.so.200" in a Python wheel.
static bool is_verbs_library(const void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* name = slash != NULL ? slash + 1 : info.dli_fname;
  const bool is_libnl = starts_with(name, "libnl-3.") || starts_with(name, "libnl-3-");
  return is_libnl || starts_with(name, "libibverbs") || starts_with(name, "librdmacm");
}

URXE_EXPORT int socket(int domain, int type, int protocol) {
  // The caller's address is known in this function's own frame only.
  if (URXE_UNLIKELY(domain == AF_NETLINK && protocol == NETLINK_RDMA)) {
    (void)URXE_NEXT(socket);
    if (urxe_tree_length != 0 && is_verbs_library(__builtin_return_address(0))) {
      errno = EPROTONOSUPPORT;
      return -1;
    }
  }
  return URXE_NEXT(socket)(domain, type, protocol);
}
