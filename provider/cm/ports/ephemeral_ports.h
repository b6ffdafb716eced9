// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// The kernel's range of ephemeral ports (net.ipv4.ip_local_port_range).
struct PortRange {
  uint16_t first = 32768;
  uint16_t last = 60999;

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(last) - first + 1; }
};
/// The range at the time of the first call; the default if it cannot be read.
PortRange ephemeral_range();

/// Returns the ports of a range, each once, beginning with a random one.
class PortSearch {
 public:
  explicit PortSearch(PortRange range);
  /// nullopt: all were returned.
  std::optional<uint16_t> next();

 private:
  PortRange range_;
  uint32_t start_;
  uint32_t told_ = 0;
};

/// The ports that this process uses, by port space. Not thread-safe.
class UsedPorts {
 public:
  [[nodiscard]] bool has(PortSpace space, uint16_t port) const { return set(space).test(port); }
  void add(PortSpace space, uint16_t port) { set(space).set(port); }
  void remove(PortSpace space, uint16_t port) { set(space).reset(port); }

 private:
  using Set = std::bitset<65536>;
  [[nodiscard]] const Set& set(PortSpace space) const { return sets_[index_of(space)]; }
  Set& set(PortSpace space) { return sets_[index_of(space)]; }
  static size_t index_of(PortSpace space);

  Set sets_[4];
};

}  // namespace urxe::cm
