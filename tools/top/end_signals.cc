// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/end_signals.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace urxe::top {
namespace {

constexpr unsigned kGraceSeconds = 1;
constexpr int kMostGraces = 10;  // after the first

volatile sig_atomic_t end_came = 0;
volatile sig_atomic_t graces = 0;
termios modes_before{};  // written before the handlers are installed

/// Turning flow control off starts what Ctrl-S has stopped. endwin() sets the old modes.
void start_output() {
  termios modes{};
  if (tcgetattr(STDOUT_FILENO, &modes) != 0) return;
  modes.c_iflag &= ~static_cast<tcflag_t>(IXON);
  tcsetattr(STDOUT_FILENO, TCSANOW, &modes);
}

void on_end(int /*signal*/) {
  const int error = errno;
  if (end_came == 0) {
    end_came = 1;
    start_output();
    alarm(kGraceSeconds);
  }
  errno = error;
}

bool takes_output() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && output.revents == POLLOUT;
}

/// If nobody reads the terminal, curses repeats its write() for ever, and the program ends here. If
/// somebody does, the program was only slow: it gets another second to leave the screen.
void on_alarm(int /*signal*/) {
  const int error = errno;
  if (takes_output() && graces < kMostGraces) {
    graces = graces + 1;
    alarm(kGraceSeconds);
    errno = error;
    return;
  }
  tcsetattr(STDOUT_FILENO, TCSANOW, &modes_before);
  _exit(0);
}

}  // namespace

EndSignals::EndSignals() {
  tcgetattr(STDOUT_FILENO, &modes_before);
  sigset_t resize;
  sigemptyset(&resize);
  sigaddset(&resize, SIGWINCH);
  sigprocmask(SIG_BLOCK, &resize, &outside_);
  sigemptyset(&ending_);
  struct sigaction action {};
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  action.sa_handler = on_end;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaddset(&ending_, signal);
    sigaction(signal, &action, nullptr);
  }
}

bool EndSignals::came() {
  return end_came != 0;
}

int EndSignals::wait(pollfd& input, const timespec& timeout) const {
  sigset_t before;
  sigprocmask(SIG_BLOCK, &ending_, &before);
  const int ready = came() ? -1 : ppoll(&input, 1, &timeout, &outside_);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return ready;
}

}  // namespace urxe::top
