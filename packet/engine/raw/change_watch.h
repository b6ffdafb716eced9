// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The kernel's reports after which packets may have to take another route: changes of routes,
/// rules, neighbours, interfaces, addresses.
class ChangeWatch {
 public:
  /// In the calling thread's network namespace. EMFILE and the like.
  static Expected<ChangeWatch, Errno> open(uint32_t ifindex);

  /// Readable while take() would find something.
  [[nodiscard]] int fd() const { return fd_.get(); }

  struct Changes {
    bool any = false;             ///< also if the kernel has dropped reports
    bool interface_gone = false;  ///< the interface has been deleted, or has left the namespace
  };
  /// Reads all reports, within bounds. Never blocks.
  Changes take() const;

 private:
  ChangeWatch(FileDescriptor fd, uint32_t ifindex) : fd_(std::move(fd)), ifindex_(ifindex) {}

  FileDescriptor fd_;
  uint32_t ifindex_;
};

}  // namespace urxe
