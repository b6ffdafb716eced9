// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "packet/host/file_descriptor.h"

namespace urxe {

/// The kernel's reports of changes of interfaces and addresses (route netlink) in the calling
/// thread's network namespace. Not thread-safe.
class ChangeSocket {
 public:
  /// False with errno.
  bool open();
  void close() { fd_.reset(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Reads all reports. True: one is about an interface of `ifindexes`, or the kernel has dropped
  /// some.
  bool take(const std::vector<uint32_t>& ifindexes);

 private:
  FileDescriptor fd_;
};

/// Whether one of the netlink messages in `bytes` reports a change of an interface of `ifindexes`
/// or of its addresses.
bool tells_of(std::span<const std::byte> bytes, const std::vector<uint32_t>& ifindexes);

}  // namespace urxe
