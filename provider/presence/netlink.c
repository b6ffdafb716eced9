// SPDX-License-Identifier: BSD-2-Clause
/// libibverbs asks RDMA netlink for devices, and reads sysfs, where ours are, only if there is no
/// such netlink: so there is none for it. It finds the machine's real devices in sysfs as well.
/// Other programs, iproute2's `rdma` say, keep their netlink.
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>

#include "provider/presence/next.h"

static bool starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/// libibverbs and librdmacm open their netlink sockets through libnl-3.
static bool is_verbs_library(const void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == NULL) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* name = slash != NULL ? slash + 1 : info.dli_fname;
  return starts_with(name, "libnl-3.") || starts_with(name, "libibverbs") ||
         starts_with(name, "librdmacm");
}

URXE_EXPORT int socket(int domain, int type, int protocol) {
  // The caller's address is only there in this function's own frame.
  if (URXE_UNLIKELY(domain == AF_NETLINK && protocol == NETLINK_RDMA)) {
    (void)URXE_NEXT(socket);
    if (urxe_tree_length != 0 && is_verbs_library(__builtin_return_address(0))) {
      errno = EPROTONOSUPPORT;
      return -1;
    }
  }
  return URXE_NEXT(socket)(domain, type, protocol);
}
