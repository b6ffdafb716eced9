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

void urxe_report_lack(const char* path) {
  static atomic_bool is_reported;
  if (errno != EMFILE && errno != ENFILE) return;
  if (atomic_exchange(&is_reported, true)) return;
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
