// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <cerrno>
#include <span>

#include "packet/host/pause.h"

namespace urxe {

/// ppoll(2) without a signal mask, for threads that sleep by it. A sandbox may lower the limit of
/// descriptors to 0 or 1 while those that are open stay open; ppoll(2) then fails at once with
/// EINVAL, because there are more entries than the limit allows. In that case this waits for a
/// millisecond at most and looks at each entry alone. With a limit of 0 not even that is possible,
/// and all entries count as ready. A thread may be cancelled in it (see wait_for_event.cc).
[[gnu::no_sanitize_address]] inline int patient_poll(std::span<pollfd> fds,
                                                     const timespec* timeout) {
  int ready = ppoll(fds.data(), fds.size(), timeout, nullptr);
  if (ready >= 0 || errno != EINVAL) return ready;
  static constexpr timespec kPause{0, 1'000'000};
  const bool is_short =
      timeout != nullptr && timeout->tv_sec == 0 && timeout->tv_nsec < kPause.tv_nsec;
  pause_for(is_short ? *timeout : kPause);
  ready = 0;
  for (pollfd& fd : fds) {
    if (poll(&fd, 1, 0) < 0) fd.revents = fd.fd < 0 ? short{0} : fd.events;
    if (fd.revents != 0) ++ready;
  }
  if (ready > 0) return ready;
  errno = EINTR;
  return -1;
}

}  // namespace urxe
