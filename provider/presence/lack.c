// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/lack.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct iovec piece(const char* text) {
  return (struct iovec){(void*)text, strlen(text)};
}

int urxe_claim_lack(int errno_value) {
  static atomic_bool is_own_reported;
  static atomic_bool is_hosts_reported;
  if (errno_value == EMFILE) return atomic_exchange(&is_own_reported, true) ? 0 : 1;
  if (errno_value == ENFILE) return atomic_exchange(&is_hosts_reported, true) ? 0 : 1;
  return 0;
}

void urxe_report_lack(const char* path) {
  if (urxe_claim_lack(errno) == 0) return;
  int saved_errno = errno;
  bool own_limit = errno == EMFILE;
  struct iovec line[] = {
      piece("urxe: cannot open "), piece(path),
      piece(own_limit ? ": Too many open files: raise the limit of this process with ulimit -n\n"
                      : ": Too many open files in the system: fs.file-max is reached\n")};
  // If stderr is closed there is nothing to be done.
  (void)!syscall(SYS_writev, STDERR_FILENO, line, 3);
  errno = saved_errno;
}
