// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// The hosts of which the consumer has said of late that nobody there takes RoCE packets, see
/// ConnectionManager::port_is_closed(). The oldest makes room.
class ClosedPortMemory {
 public:
  static constexpr size_t kHosts = 16;
  static constexpr Duration kValid = seconds(1);

  void note(const Gid& local, const Gid& peer, Instant now);
  /// Whether the destination of the flow is such a host.
  [[nodiscard]] bool has(const Flow& flow, Instant now) const;

 private:
  struct Entry {
    Gid local;
    Gid peer;
    Instant end;  ///< of what is known
  };
  std::array<Entry, kHosts> entries_{};
  size_t next_ = 0;
};

}  // namespace urxe
