// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// The hosts whose port 4791 the consumer has reported closed within the last second
/// (ConnectionManager::port_is_closed()). A new entry replaces the oldest.
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
    Instant end;  ///< of the report's validity
  };
  std::array<Entry, kHosts> entries_{};
  size_t next_ = 0;
};

}  // namespace urxe
