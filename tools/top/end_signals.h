// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <signal.h>
#include <time.h>

namespace urxe::top {

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the program as `q` does, also while the terminal takes
/// no output: the first one lets stopped output (Ctrl-S) go on. If the terminal still takes none
/// after a second, the program ends without drawing, with the modes of the terminal as they were.
/// SIGWINCH, which curses handles, is blocked except in wait(). One object a process, made before
/// curses has changed the terminal.
class EndSignals {
 public:
  EndSignals();
  [[nodiscard]] static bool came();
  /// ppoll() on one file descriptor that misses none of the signals. Negative if one came.
  [[nodiscard]] int wait(pollfd& input, const timespec& timeout) const;

 private:
  sigset_t ending_{};
  sigset_t outside_{};
};

}  // namespace urxe::top
