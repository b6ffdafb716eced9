// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <signal.h>

#include "packet/host/file_descriptor.h"

namespace urxe {

/// Holds back the signals of the calling thread, except those that its own instructions raise. Its
/// end lets them through, and their handlers run then.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// The signals that were blocked before.
  [[nodiscard]] const sigset_t& blocked_before() const { return before_; }
  /// Whether one waits that would end a read(2), if it could: the handler was installed without
  /// SA_RESTART (signal(7)).
  [[nodiscard]] bool one_interrupts() const;

 private:
  sigset_t before_{};
};

/// Tells a thread that holds its signals back that one has come. One thread at a time.
class SignalAlarm {
 public:
  /// Does so for all signals but those that were blocked before. EMFILE, ENFILE, ENOMEM.
  [[nodiscard]] bool watch(const HeldSignals& signals);
  /// Readable if one has come; -1 before the first watch(). For the thread that has called watch().
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
  sigset_t left_out_{};
};

}  // namespace urxe
