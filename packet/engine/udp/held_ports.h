// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The UDP ports that an engine holds on all addresses of the host (take_port()), each for the
/// sockets that its own addresses have on it.
class HeldPorts {
 public:
  /// Returns the holder, and counts one more socket that needs it. Errors: as take_port().
  Expected<int, Errno> hold(uint16_t port);
  /// Undoes one hold().
  void release(uint16_t port);

 private:
  struct Port {
    uint16_t port;
    uint32_t users;
    FileDescriptor holder;
  };

  std::vector<Port> ports_;
};

}  // namespace urxe
