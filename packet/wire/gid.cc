// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/gid.h"

#include <arpa/inet.h>

#include <algorithm>

namespace urxe {

bool Gid::is_ipv6_link_local() const {
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Gid::is_zero() const {
  return *this == Gid{};
}

Gid Gid::from_ipv4(const uint8_t address[4]) {
  Gid gid;
  gid.bytes[10] = gid.bytes[11] = 0xff;
  std::memcpy(gid.bytes.data() + 12, address, 4);
  return gid;
}

Gid Gid::from_ipv6(const uint8_t address[16]) {
  Gid gid;
  std::memcpy(gid.bytes.data(), address, 16);
  return gid;
}

std::string Gid::to_string() const {
  char text[INET6_ADDRSTRLEN] = "";
  const bool v4 = is_ipv4();
  inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? ipv4() : bytes.data(), text, sizeof text);
  return text;
}

bool is_no_source(const Gid& address) {
  if (address.is_multicast()) return true;
  if (address.is_ipv4()) {
    const uint8_t* const ipv4 = address.ipv4();
    const bool is_broadcast = std::all_of(ipv4, ipv4 + 4, [](uint8_t b) { return b == 0xff; });
    return ipv4[0] == 127 || ipv4[0] == 0 || is_broadcast;
  }
  Gid rest = address;
  rest.bytes[15] &= 0xfe;  // ::1 and ::
  return rest.is_zero();
}

Gid source_network(const Gid& address) {
  constexpr size_t kPrefixBytes = 8;
  Gid network = address;
  if (!address.is_ipv4() && !address.is_ipv6_link_local()) {
    std::fill(network.bytes.begin() + kPrefixBytes, network.bytes.end(), uint8_t{0});
  }
  return network;
}

}  // namespace urxe
