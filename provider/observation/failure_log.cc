// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/failure_log.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>

#include "provider/observation/explanation.h"

namespace urxe {
namespace {

constinit std::atomic<uint64_t> failures{0};

/// Whether a write of a line would neither wait nor raise SIGPIPE. A pipe that is writable has room
/// for PIPE_BUF bytes, which is more than a line has.
bool stderr_takes_a_line() {
  pollfd target{STDERR_FILENO, POLLOUT, 0};
  return poll(&target, 1, 0) == 1 && target.revents == POLLOUT;
}

void print_line(std::string_view line) {
  const int saved = errno;
  ShortText text;
  text.add("urxe: ");
  // The newline must fit, too.
  text.add(line.substr(0, ShortText::kCapacity - text.view().size() - 1));
  text.add("\n");
  if (stderr_takes_a_line()) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, text.view().data(), text.view().size());
  }
  errno = saved;
}

}  // namespace

void tell_failure(std::string_view device, const QpReport& report) noexcept {
  if (failure_of(report) == nullptr) return;
  if (failures.fetch_add(1) >= kMostFailureLines) return;
  print_line(failure_line(device, report).view());
}

bool may_tell_failures() noexcept {
  return failures.load() < kMostFailureLines;
}

void count_untold_failures(uint64_t count) noexcept {
  failures.fetch_add(count);
}

void forget_failures() noexcept {
  failures.store(0);
}

void tell_untold_failures() noexcept {
  const uint64_t count = failures.exchange(kMostFailureLines);
  if (count <= kMostFailureLines) return;
  ShortText text;
  text.add_format("%" PRIu64 " more queue pairs have failed; `urxe stat --why` knows the last ones",
                  count - kMostFailureLines);
  print_line(text.view());
}

}  // namespace urxe
