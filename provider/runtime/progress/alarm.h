// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Wakes a sleeping thread at a time that another thread sets. To wake it at once, only that it
/// sleeps for a shorter time, would cost more: it takes the processor from the thread that wakes
/// it.
class Alarm {
 public:
  /// False: no descriptor (errno says why).
  bool open();
  void close() { timer_.reset(); }
  /// What the sleeper waits for, together with others. -1 before open().
  [[nodiscard]] int fd() const { return timer_.get(); }
  /// Any thread. A time that has passed wakes at once. The last call counts.
  void set(Instant when) const;
  /// The sleeper has been woken.
  void silence() const;

 private:
  FileDescriptor timer_;
};

}  // namespace urxe
