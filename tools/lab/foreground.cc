// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/foreground.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/exit_status.h"

namespace urxe::lab {
namespace {

constexpr int kBySignal = 128;

void end_by(int signal_number) {
  _exit(kBySignal + signal_number);
}

}  // namespace

OwnTerminal::OwnTerminal() : file_(open("/dev/tty", O_RDWR | O_CLOEXEC)) {
  had_ = file_ && tcgetpgrp(file_.get()) == getpgrp();
}

void OwnTerminal::take_back() const {
  if (!had_) return;
  signal(SIGTTOU, SIG_IGN);
  tcsetpgrp(file_.get(), getpgrp());
}

EndedByTerminal::EndedByTerminal() {
  struct sigaction action {};
  action.sa_handler = end_by;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

EndedByTerminal::~EndedByTerminal() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

void expect_children() {
  signal(SIGCHLD, SIG_DFL);
}

int wait_for(pid_t pid) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) {
      fmt::print(stderr, "urxe lab: waitpid(): {}\n", std::strerror(errno));
      return kOurFailure;
    }
    if (ended != pid) continue;
    return WIFSIGNALED(status) ? kBySignal + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

int follow_command(pid_t pid, const OwnTerminal& terminal) {
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  const int status = wait_for(pid);
  terminal.take_back();
  return status;
}

}  // namespace urxe::lab
