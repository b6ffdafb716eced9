// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "packet/wire/gid.h"

namespace urxe {

/// An address of a host, with the network that it is in.
struct IpNetwork {
  Gid address;
  uint8_t prefix_bits = 128;  ///< of the GID: 96 more than an IPv4 prefix has

  /// Whether the other address is in the network too.
  [[nodiscard]] bool contains(const Gid& other) const;
  friend bool operator==(const IpNetwork&, const IpNetwork&) = default;
};

/// "192.0.2.1" or "2001:db8::1".
std::optional<Gid> parse_ip_address(std::string_view text);

/// "192.0.2.1/24" or "2001:db8::1/64".
std::optional<IpNetwork> parse_ip_network(std::string_view text);

}  // namespace urxe
