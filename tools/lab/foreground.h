// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>

#include "packet/host/file_descriptor.h"

namespace urxe::lab {

/// The terminal of this process, if its process group has it. A shell that has had the terminal
/// gives it to nobody when it ends, because our process group has no number in its PID namespace.
class OwnTerminal {
 public:
  OwnTerminal();
  void take_back() const;

 private:
  FileDescriptor file_;
  bool had_ = false;
};

/// While it lives, the terminal's SIGINT and SIGQUIT end this process with 128 and their number, as
/// they do a command. Otherwise init of a PID namespace would not notice them. Those that were
/// ignored stay so.
class EndedByTerminal {
 public:
  EndedByTerminal();
  ~EndedByTerminal();
  EndedByTerminal(const EndedByTerminal&) = delete;
  EndedByTerminal& operator=(const EndedByTerminal&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGQUIT};
  std::array<struct sigaction, kSignals.size()> before_{};
};

/// Before children are made whose status counts: if this process was started with SIGCHLD ignored,
/// they would leave none.
void expect_children();

/// Waits for the process, and takes the exit status of others that have lost their parents. Returns
/// its exit status, 128 and the number of the signal that ended it, or 125 after a line on stderr.
int wait_for(pid_t pid);

/// The same for a command that the signals of the terminal are for, which it then gives back.
int follow_command(pid_t pid, const OwnTerminal& terminal);

}  // namespace urxe::lab
