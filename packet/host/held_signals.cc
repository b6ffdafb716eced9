// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/held_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>

#include <cstring>

namespace urxe {
namespace {

sigset_t all_but_faults() {
  sigset_t set;
  sigfillset(&set);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&set, fault);
  return set;
}

/// Whether the signal's action ends a read(2). A signal that is ignored does not.
bool interrupts(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0) return false;
  const bool handled = (action.sa_flags & SA_SIGINFO) != 0 ||
                       (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
  return handled && (action.sa_flags & SA_RESTART) == 0;
}

}  // namespace

HeldSignals::HeldSignals() {
  const sigset_t all = all_but_faults();
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

HeldSignals::~HeldSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool HeldSignals::one_interrupts() const {
  sigset_t waiting{};
  sigpending(&waiting);
  for (int signal = 1; signal < NSIG; ++signal) {
    const bool comes = sigismember(&waiting, signal) == 1 && sigismember(&before_, signal) == 0;
    if (comes && interrupts(signal)) return true;
  }
  return false;
}

/// Those that the application has blocked may wait for any time, and must wake nobody.
bool SignalAlarm::watch(const HeldSignals& signals) {
  const sigset_t& blocked = signals.blocked_before();
  if (fd_ && std::memcmp(&blocked, &left_out_, sizeof blocked) == 0) return true;
  sigset_t wanted = all_but_faults();
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&blocked, signal) == 1) sigdelset(&wanted, signal);
  }
  const int fd = signalfd(fd_.get(), &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return false;
  if (!fd_) fd_ = FileDescriptor(fd);
  left_out_ = blocked;
  return true;
}

}  // namespace urxe
