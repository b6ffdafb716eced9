// SPDX-License-Identifier: BSD-2-Clause
#include "grh.h"

#include <cstring>

#include "tests/apps/rc_verify/failure.h"

namespace ud_verify {
namespace {

using rc_verify::format;

constexpr uint32_t kUdp = 8;
constexpr uint32_t kBth = 12;
constexpr uint32_t kDeth = 8;
constexpr uint32_t kImmediate = 4;
constexpr uint32_t kIcrc = 4;
constexpr uint32_t kIpv4Header = 20;
constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kEcnBits = 3;

uint32_t big_endian_16(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 8 | at[1];
}

// Of the UDP datagram.
uint32_t udp_length(const ExpectedGrh& expected) {
  const uint32_t padded = (expected.payload + 3) / 4 * 4;
  return kUdp + kBth + kDeth + (expected.immediate ? kImmediate : 0) + padded + kIcrc;
}

uint32_t checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kIpv4Header; i += 2) sum += big_endian_16(header + i);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

std::string field(const char* name, uint32_t want, uint32_t have) {
  return want == have ? "" : format("%s is 0x%x, not 0x%x; ", name, have, want);
}

std::string common_fields(uint8_t traffic_class, uint8_t hop_limit, uint8_t protocol,
                          const ExpectedGrh& expected) {
  std::string wrong = field("the traffic class without ECN", expected.traffic_class & ~kEcnBits,
                            traffic_class & ~kEcnBits);
  if (hop_limit == 0 || hop_limit > expected.hop_limit)
    wrong += format("the hop limit is %u, sent was %u; ", hop_limit, expected.hop_limit);
  return wrong + field("the protocol", kProtocolUdp, protocol);
}

std::string ipv4_difference(const uint8_t* header, const ExpectedGrh& expected) {
  std::string wrong = field("version and header length", 0x45, header[0]);
  wrong += field("the total length", kIpv4Header + udp_length(expected), big_endian_16(header + 2));
  wrong += common_fields(header[1], header[8], header[9], expected);
  wrong += field("the sum with the checksum", 0xffff, checksum(header));
  if (std::memcmp(header + 12, &expected.source.raw[12], 4) != 0) wrong += "another source; ";
  if (std::memcmp(header + 16, &expected.destination.raw[12], 4) != 0)
    wrong += "another destination; ";
  return wrong;
}

std::string ipv6_difference(const uint8_t* header, const ExpectedGrh& expected) {
  const auto traffic_class = static_cast<uint8_t>(big_endian_16(header) >> 4);
  std::string wrong = field("the version", 6, header[0] >> 4);
  wrong += field("the payload length", udp_length(expected), big_endian_16(header + 4));
  wrong += common_fields(traffic_class, header[7], header[6], expected);
  if (std::memcmp(header + 8, expected.source.raw, 16) != 0) wrong += "another source; ";
  if (std::memcmp(header + 24, expected.destination.raw, 16) != 0) wrong += "another destination; ";
  return wrong;
}

}  // namespace

bool is_ipv4(const ibv_gid& gid) {
  constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kMapped, sizeof kMapped) == 0;
}

std::string grh_difference(std::span<const uint8_t, kGrhBytes> grh, const ExpectedGrh& expected) {
  return is_ipv4(expected.source) ? ipv4_difference(grh.data() + kGrhBytes - kIpv4Header, expected)
                                  : ipv6_difference(grh.data(), expected);
}

}  // namespace ud_verify
