// SPDX-License-Identifier: BSD-2-Clause
// Ethernet frames for tests, byte by byte, with nothing of the product in them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace frames {

using Bytes = std::vector<uint8_t>;

constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;

/// A TCP segment or UDP datagram over IP in an Ethernet frame; what differs is set by name.
struct Parts {
  std::array<uint8_t, 6> to{2, 0, 0, 0, 0, 1};
  std::array<uint8_t, 6> from{2, 0, 0, 0, 0, 2};
  std::vector<uint16_t> vlan_tags{};
  bool ipv6 = false;
  uint8_t protocol = kUdp;
  uint8_t tos = 0;  ///< or the traffic class
  uint8_t ttl = 64;
  uint16_t fragment = 0x4000;  ///< flags and offset of IPv4; DF
  uint32_t flow_label = 0;
  Bytes ip_options{};  ///< a multiple of 4 bytes
  /// Extension headers of IPv6, each with its type; they are linked to each other.
  std::vector<std::pair<uint8_t, Bytes>> extensions{};
  uint8_t source_host = 2;       ///< 10.0.0.2, or fd00::2
  uint8_t destination_host = 1;  ///< 10.0.0.1, or fd00::1
  uint16_t source_port = 1000;
  uint16_t destination_port = 2000;
  uint8_t tcp_flags = 0x10;
  uint32_t tcp_sequence = 1;
  Bytes payload = Bytes(20, 0xab);
};

inline void put16(Bytes& out, uint32_t value) {
  out.push_back(static_cast<uint8_t>(value >> 8));
  out.push_back(static_cast<uint8_t>(value));
}
inline void put32(Bytes& out, uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}
inline void append(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

/// The Internet checksum, one byte after the other.
inline uint16_t checksum(const Bytes& bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) sum += uint64_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

inline Bytes address(bool ipv6, uint8_t host) {
  if (!ipv6) return {10, 0, 0, host};
  Bytes result(16, 0);
  result[0] = 0xfd;
  result[15] = host;
  return result;
}

/// With a right checksum.
inline Bytes transport_of(const Parts& parts) {
  Bytes out;
  put16(out, parts.source_port);
  put16(out, parts.destination_port);
  if (parts.protocol == kTcp) {
    put32(out, parts.tcp_sequence);
    put32(out, 0);
    out.push_back(0x50);
    out.push_back(parts.tcp_flags);
    put16(out, 1024);
    put32(out, 0);
  } else {
    put16(out, static_cast<uint32_t>(8 + parts.payload.size()));
    put16(out, 0);
  }
  append(out, parts.payload);
  Bytes summed = address(parts.ipv6, parts.source_host);
  append(summed, address(parts.ipv6, parts.destination_host));
  put16(summed, parts.protocol);
  put16(summed, static_cast<uint32_t>(out.size()));
  append(summed, out);
  const uint16_t sum = checksum(summed);
  const size_t at = parts.protocol == kTcp ? 16 : 6;
  out[at] = static_cast<uint8_t>(sum >> 8);
  out[at + 1] = static_cast<uint8_t>(sum);
  return out;
}

inline Bytes ipv4_of(const Parts& parts, const Bytes& transport) {
  Bytes out;
  out.push_back(static_cast<uint8_t>(0x45 + parts.ip_options.size() / 4));
  out.push_back(parts.tos);
  put16(out, static_cast<uint32_t>(20 + parts.ip_options.size() + transport.size()));
  put16(out, 7);
  put16(out, parts.fragment);
  out.push_back(parts.ttl);
  out.push_back(parts.protocol);
  put16(out, 0);
  append(out, address(false, parts.source_host));
  append(out, address(false, parts.destination_host));
  append(out, parts.ip_options);
  const uint16_t sum = checksum(out);
  out[10] = static_cast<uint8_t>(sum >> 8);
  out[11] = static_cast<uint8_t>(sum);
  append(out, transport);
  return out;
}

inline Bytes ipv6_of(const Parts& parts, const Bytes& transport) {
  Bytes rest;
  for (size_t i = 0; i < parts.extensions.size(); ++i) {
    const bool last = i + 1 == parts.extensions.size();
    Bytes extension = parts.extensions[i].second;
    extension[0] = last ? parts.protocol : parts.extensions[i + 1].first;
    append(rest, extension);
  }
  append(rest, transport);
  Bytes out;
  put32(out, 0x60000000U | uint32_t{parts.tos} << 20 | parts.flow_label);
  put16(out, static_cast<uint32_t>(rest.size()));
  out.push_back(parts.extensions.empty() ? parts.protocol : parts.extensions[0].first);
  out.push_back(parts.ttl);
  append(out, address(true, parts.source_host));
  append(out, address(true, parts.destination_host));
  append(out, rest);
  return out;
}

inline Bytes make(const Parts& parts) {
  Bytes out(parts.to.begin(), parts.to.end());
  out.insert(out.end(), parts.from.begin(), parts.from.end());
  for (const uint16_t tag : parts.vlan_tags) {
    put16(out, 0x8100);
    put16(out, tag);
  }
  put16(out, parts.ipv6 ? 0x86dd : 0x0800);
  const Bytes transport = transport_of(parts);
  append(out, parts.ipv6 ? ipv6_of(parts, transport) : ipv4_of(parts, transport));
  return out;
}

}  // namespace frames
