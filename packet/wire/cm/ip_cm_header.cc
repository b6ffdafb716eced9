// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/cm/ip_cm_header.h"

#include <algorithm>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr uint8_t kVersion = 0;  ///< major and minor
constexpr size_t kIpVersionAt = 1;
constexpr size_t kSourcePortAt = 2;
constexpr size_t kSourceAt = 4;
constexpr size_t kDestinationAt = 20;
constexpr size_t kIpv4In = 12;  ///< an IPv4 address is the last four of an address's 16 bytes

Gid read_address(const uint8_t* at, bool ipv4) {
  return ipv4 ? Gid::from_ipv4(at + kIpv4In) : Gid::from_ipv6(at);
}

void write_address(uint8_t* to, const Gid& gid, bool ipv4) {
  const size_t skip = ipv4 ? kIpv4In : 0;
  std::copy(gid.bytes.begin() + static_cast<std::ptrdiff_t>(skip), gid.bytes.end(), to + skip);
}

}  // namespace

Expected<IpCmHeader, MadDropReason> parse_ip_cm_header(std::span<const uint8_t> private_data) {
  const Unexpected<MadDropReason> malformed(MadDropReason::kMalformed);
  if (private_data.size() < kIpCmHeaderBytes || private_data[0] != kVersion) return malformed;
  const uint8_t* p = private_data.data();
  const auto ip_version = static_cast<uint8_t>(p[kIpVersionAt] >> 4);  // the rest is reserved
  if (ip_version != 4 && ip_version != 6) return malformed;
  const bool ipv4 = ip_version == 4;
  return IpCmHeader{ip_version, load_be16(p + kSourcePortAt), read_address(p + kSourceAt, ipv4),
                    read_address(p + kDestinationAt, ipv4)};
}

std::array<uint8_t, kIpCmHeaderBytes> emit_ip_cm_header(const IpCmHeader& header) {
  std::array<uint8_t, kIpCmHeaderBytes> bytes{};
  const bool ipv4 = header.ip_version == 4;
  bytes[0] = kVersion;
  bytes[kIpVersionAt] = static_cast<uint8_t>(header.ip_version << 4);
  store_be16(&bytes[kSourcePortAt], header.source_port);
  write_address(&bytes[kSourceAt], header.source, ipv4);
  write_address(&bytes[kDestinationAt], header.destination, ipv4);
  return bytes;
}

}  // namespace urxe
