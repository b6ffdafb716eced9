// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/stderr_line.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// A writable pipe has room for PIPE_BUF bytes, more than a line has. A pipe without a reader
/// reports POLLERR besides.
bool stderr_takes_a_line() {
  pollfd target{STDERR_FILENO, POLLOUT, 0};
  return poll(&target, 1, 0) == 1 && target.revents == POLLOUT;
}

}  // namespace

void write_stderr_line(std::initializer_list<std::string_view> parts) noexcept {
  const Uncancelled uncancelled;
  constexpr size_t kMost = 16;
  const int saved = errno;
  std::array<iovec, kMost> pieces{};
  size_t count = 0;
  for (const std::string_view part : parts) {
    if (count < kMost) pieces[count++] = {const_cast<char*>(part.data()), part.size()};
  }
  if (stderr_takes_a_line()) {
    [[maybe_unused]] const ssize_t written =
        writev(STDERR_FILENO, pieces.data(), static_cast<int>(count));
  }
  errno = saved;
}

}  // namespace urxe
