// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Wakes a sleeping thread at a time that another thread sets. The alternative is to wake it now
/// and let it sleep again for a shorter time. That costs more, because the woken thread may take
/// the processor of the thread that woke it.
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
