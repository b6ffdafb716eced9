// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "packet/base/bytes.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

// Writes the IP and UDP headers of RoCEv2 packets, for the pseudo headers of the ICRC, the GRH of
// datagrams, captures, and frames.

inline constexpr size_t kIpv4HeaderBytes = 20;  ///< without options
inline constexpr size_t kIpv4ChecksumAt = 10;   ///< offset in the header
inline constexpr size_t kIpv6HeaderBytes = 40;
inline constexpr size_t kUdpHeaderBytes = 8;
inline constexpr uint8_t kUdpProtocol = 17;

/// Whether the packets of a flow have IPv4 headers; if not, IPv6 ones.
inline bool is_ipv4(const Flow& flow) {
  return flow.source.is_ipv4() && flow.destination.is_ipv4();
}

/// The fields that routers may change on the way. The ICRC takes each as all ones.
struct VariantFields {
  uint8_t traffic_class = 0xff;
  uint8_t hop_limit = 0xff;
  uint32_t flow_label = 0xfffff;  ///< IPv6 only, 20 bits
};

/// Writes an IPv4 header with DF set and the checksum `checksum`; `udp_bytes` counts the UDP header
/// and everything after it. Returns kIpv4HeaderBytes.
inline size_t write_ipv4_header(uint8_t* out, const Flow& flow, const VariantFields& fields,
                                uint16_t identification, size_t udp_bytes, uint16_t checksum) {
  constexpr uint8_t kVersionAndWords = 0x45;
  constexpr uint16_t kDontFragment = 0x4000;
  out[0] = kVersionAndWords;
  out[1] = fields.traffic_class;
  store_be16(out + 2, static_cast<uint16_t>(kIpv4HeaderBytes + udp_bytes));
  store_be16(out + 4, identification);
  store_be16(out + 6, kDontFragment);
  out[8] = fields.hop_limit;
  out[9] = kUdpProtocol;
  store_be16(out + 10, checksum);
  std::memcpy(out + 12, flow.source.ipv4(), 4);
  std::memcpy(out + 16, flow.destination.ipv4(), 4);
  return kIpv4HeaderBytes;
}

/// Writes an IPv6 header. Returns kIpv6HeaderBytes.
inline size_t write_ipv6_header(uint8_t* out, const Flow& flow, const VariantFields& fields,
                                size_t udp_bytes) {
  constexpr uint32_t kVersion = 0x60000000U;
  store_be32(out, kVersion | static_cast<uint32_t>(fields.traffic_class) << 20 | fields.flow_label);
  store_be16(out + 4, static_cast<uint16_t>(udp_bytes));
  out[6] = kUdpProtocol;
  out[7] = fields.hop_limit;
  std::memcpy(out + 8, flow.source.bytes.data(), 16);
  std::memcpy(out + 24, flow.destination.bytes.data(), 16);
  return kIpv6HeaderBytes;
}

/// Writes a UDP header to port 4791. Returns kUdpHeaderBytes.
inline size_t write_udp_header(uint8_t* out, const Flow& flow, size_t udp_bytes,
                               uint16_t checksum) {
  store_be16(out, flow.source_port);
  store_be16(out + 2, kRoceUdpPort);
  store_be16(out + 4, static_cast<uint16_t>(udp_bytes));
  store_be16(out + 6, checksum);
  return kUdpHeaderBytes;
}

/// The Internet checksum (RFC 1071).
class InternetChecksum {
 public:
  /// Adds bytes: an even number of them, except for the last ones.
  void add(std::span<const uint8_t> bytes) {
    size_t i = 0;
    for (; i + 1 < bytes.size(); i += 2) sum_ += load_be16(bytes.data() + i);
    if (i < bytes.size()) sum_ += static_cast<uint32_t>(bytes[i]) << 8;
  }
  /// Adds a 16-bit word, or the sum of several.
  void add_word(uint32_t word) { sum_ += word; }
  [[nodiscard]] uint16_t value() const {
    uint32_t sum = sum_;
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
  }

 private:
  uint32_t sum_ = 0;
};

/// The checksum of an IPv4 header that was written with checksum 0.
inline uint16_t ipv4_checksum(const uint8_t* header) {
  InternetChecksum checksum;
  checksum.add({header, kIpv4HeaderBytes});
  return checksum.value();
}

}  // namespace urxe
