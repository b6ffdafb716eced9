// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/forks.h"

#include <linux/netlink.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "provider/presence/callers.h"
#include "provider/presence/next.h"
#include "provider/presence/versioned.h"

/// Reads the digits at `*text`, and goes on behind them.
static unsigned number_at(const char** text) {
  unsigned number = 0;
  for (; **text >= '0' && **text <= '9'; ++*text) number = 10 * number + (unsigned)(**text - '0');
  return number;
}

bool urxe_has_safe_forks(void) {
  struct utsname system;
  if (uname(&system) != 0) return false;
  const char* text = system.release;
  const unsigned major = number_at(&text);
  if (*text == '.') ++text;
  const unsigned minor = number_at(&text);
  if (major > 5 || (major == 5 && minor >= 12)) return true;
  const int fd = URXE_NEXT(socket)(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
  if (fd >= 0) close(fd);
  return fd < 0;
}

static bool is_of_verbs(const void* caller) {
  return urxe_is_verbs_library(urxe_object_of(caller));
}

/// What the program itself has asked for (QEMU, of its guest's memory) stays, too.
URXE_VERSIONED(madvise)
int urxe_versioned_madvise(void* address, size_t length, int advice) {
  if (URXE_UNLIKELY(advice == MADV_DONTFORK || advice == MADV_DOFORK)) {
    const void* const caller = __builtin_return_address(0);
    (void)URXE_NEXT(madvise);  // sets up
    if (urxe_tree_length != 0 && is_of_verbs(caller) && urxe_has_safe_forks()) return 0;
  }
  return URXE_NEXT(madvise)(address, length, advice);
}
