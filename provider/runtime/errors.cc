// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/errors.h"

#include <sys/uio.h>
#include <unistd.h>

namespace urxe {

void print_error(const std::string& text) noexcept {
  const int saved = errno;
  char prefix[] = "urxe: ";
  char newline[] = "\n";
  iovec parts[] = {{prefix, sizeof prefix - 1},
                   {const_cast<char*>(text.data()), text.size()},
                   {newline, sizeof newline - 1}};
  // If stderr is closed there is nothing to be done.
  [[maybe_unused]] ssize_t written = writev(STDERR_FILENO, parts, 3);
  errno = saved;
}

}  // namespace urxe
