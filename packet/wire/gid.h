// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace urxe {

/// A RoCEv2 GID, which is an IP address: an IPv6 address itself, or IPv4 as ::ffff:a.b.c.d
/// (IBTA annex A17; rdma-core writes it the same way). Network byte order.
struct Gid {
  std::array<uint8_t, 16> bytes{};

  [[nodiscard]] bool is_ipv4() const {
    constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::memcmp(bytes.data(), kPrefix, sizeof kPrefix) == 0;
  }
  [[nodiscard]] bool is_ipv6_link_local() const;
  [[nodiscard]] bool is_multicast() const {
    return bytes[0] == 0xff || (is_ipv4() && (ipv4()[0] & 0xf0) == 0xe0);
  }
  [[nodiscard]] bool is_zero() const;
  /// The four bytes of the IPv4 address. Only valid if is_ipv4().
  [[nodiscard]] const uint8_t* ipv4() const { return bytes.data() + 12; }
  [[nodiscard]] static Gid from_ipv4(const uint8_t address[4]);
  [[nodiscard]] static Gid from_ipv6(const uint8_t address[16]);
  /// "192.0.2.1" or "2001:db8::1".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Gid& a, const Gid& b) {
    return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) == 0;
  }
};

/// Whether no packet on a link may have this source: a loopback address, a group, IPv4's broadcast
/// address, or none.
[[nodiscard]] bool is_no_source(const Gid& address);

/// The key of bounds per source: an IPv4 or link-local address itself; of another IPv6 address the
/// first 64 bits, followed by zeros, since a host may use all addresses of its network.
[[nodiscard]] Gid source_network(const Gid& address);

}  // namespace urxe
