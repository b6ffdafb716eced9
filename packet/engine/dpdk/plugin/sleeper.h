// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// What a thread sleeps on that waits for frames: the driver's interrupt, and a timer. The timer
/// runs only while somebody sleeps. Without an interrupt it is short at first, and the longer
/// nothing has arrived, the longer it is, up to a millisecond.
class Sleeper {
 public:
  /// `interrupt_fd`: -1 if the driver has none.
  static Expected<Sleeper, EngineError> open(int interrupt_fd);

  /// A thread is about to wait on fd().
  void begin(bool has_received, Instant now);
  void end();
  [[nodiscard]] int fd() const { return epoll_.get(); }

 private:
  Sleeper(FileDescriptor epoll, FileDescriptor timer, bool has_interrupt)
      : epoll_(std::move(epoll)), timer_(std::move(timer)), has_interrupt_(has_interrupt) {}
  void set_timer(Duration interval) const;

  FileDescriptor epoll_;
  FileDescriptor timer_;
  bool has_interrupt_;
  bool armed_ = false;
  Instant busy_until_{};  ///< when something was known to have arrived last
};

}  // namespace urxe
