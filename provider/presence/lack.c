// SPDX-License-Identifier: BSD-2-Clause
#include "provider/presence/lack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/poll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "provider/presence/next.h"

/// Writes three pieces, unless that would have to wait or raise SIGPIPE: stderr is the program's.
static void write_line(const struct iovec line[3]) {
  struct pollfd target = {STDERR_FILENO, POLLOUT, 0};
  const struct timespec at_once = {0, 0};
  const long ready = syscall(SYS_ppoll, &target, 1, &at_once, NULL, 0);
  if (ready == 1 && target.revents == POLLOUT) (void)!syscall(SYS_writev, STDERR_FILENO, line, 3);
}

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

/// Returns 0 if the tree can be entered, otherwise the errno value.
static int reach_tree(void) {
  char tree[URXE_LONGEST_TREE];
  const size_t length = urxe_reach_tree(tree);
  if (length == 0) return 0;
  tree[length] = '\0';
  return syscall(SYS_faccessat, AT_FDCWD, tree, X_OK) == 0 ? 0 : errno;
}

static void report_unreachable_tree(const char* path) {
  static atomic_bool is_reported;
  const int saved_errno = errno;
  const int error = reach_tree();
  if ((error == EACCES || error == ENOENT) && !atomic_exchange(&is_reported, true)) {
    struct iovec line[] = {
        piece("urxe: cannot open "), piece(path),
        piece(error == EACCES
                  ? ": the devices belong to the user who started `urxe run` or `urxe env`. Start "
                    "it as this user, or open a device before changing the user\n"
                  : ": the directory that describes the devices does not exist any more. Start the "
                    "program with `urxe run`, or evaluate the output of `urxe env` again\n")};
    write_line(line);
  }
  errno = saved_errno;
}

void urxe_report_lack(const char* path) {
  if (errno == EACCES || errno == ENOENT) {
    report_unreachable_tree(path);
    return;
  }
  if (urxe_claim_lack(errno) == 0) return;
  int saved_errno = errno;
  bool own_limit = errno == EMFILE;
  struct iovec line[] = {
      piece("urxe: cannot open "), piece(path),
      piece(own_limit ? ": Too many open files: raise the limit of this process with ulimit -n\n"
                      : ": Too many open files in the system: fs.file-max is reached\n")};
  write_line(line);
  errno = saved_errno;
}
