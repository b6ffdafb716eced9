// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/icrc_check.h"

#include <algorithm>
#include <vector>

namespace urxe::test {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr unsigned kRocePort = 4791;
constexpr size_t kLargestPacket = 4096 + 64;
constexpr size_t kSmallestPacket = 16;

/// A shift register of 32 bits fed one bit at a time, the least significant bit of a byte first.
class BitwiseCrc {
 public:
  void feed(uint8_t byte) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool in = ((byte >> bit) & 1) != 0;
      const bool out = (register_ & 0x80000000U) != 0;
      register_ <<= 1;
      if (in != out) register_ ^= 0x04c11db7U;
    }
  }
  /// The complement, its bits in the order in which they are sent.
  [[nodiscard]] uint32_t result() const {
    uint32_t reversed = 0;
    for (int bit = 0; bit < 32; ++bit) {
      if (((register_ >> bit) & 1) != 0) reversed |= 1U << (31 - bit);
    }
    return ~reversed;
  }

 private:
  uint32_t register_ = 0xffffffffU;
};

/// IBTA annex A17.3.3: what a router may change counts as ones.
std::vector<uint8_t> masked(Bytes ip_packet, bool ipv6, size_t udp_offset) {
  std::vector<uint8_t> bytes(ip_packet.begin(), ip_packet.end());
  if (ipv6) {
    bytes[0] |= 0x0f;                       // traffic class, upper half
    bytes[1] = bytes[2] = bytes[3] = 0xff;  // its lower half, and the flow label
    bytes[7] = 0xff;                        // hop limit
  } else {
    bytes[1] = 0xff;               // type of service
    bytes[8] = 0xff;               // time to live
    bytes[10] = bytes[11] = 0xff;  // header checksum
  }
  bytes[udp_offset + 6] = bytes[udp_offset + 7] = 0xff;  // UDP checksum
  bytes[udp_offset + 8 + 4] = 0xff;                      // BTH: FECN, BECN, reserved
  return bytes;
}

bool matches(Bytes ip_packet, bool ipv6, size_t udp_offset) {
  const uint32_t icrc = reference_icrc(ip_packet.first(ip_packet.size() - 4), ipv6, udp_offset);
  const Bytes last = ip_packet.last(4);
  for (unsigned i = 0; i < 4; ++i) {
    if (last[i] != ((icrc >> (8 * i)) & 0xff)) return false;
  }
  return true;
}

/// Whether the first `size` bytes of the UDP payload are a packet, under the lengths that
/// segmentation would have given it.
bool is_first_segment(const Datagram& datagram, size_t size) {
  const Bytes all = datagram.ip.first(datagram.udp_offset + 8 + size);
  std::vector<uint8_t> packet(all.begin(), all.end());
  const size_t udp_length = size + 8;
  const size_t ip_length = datagram.ipv6 ? udp_length : packet.size();
  const size_t ip_length_at = datagram.ipv6 ? 4 : 2;
  packet[ip_length_at] = static_cast<uint8_t>(ip_length >> 8);
  packet[ip_length_at + 1] = static_cast<uint8_t>(ip_length);
  packet[datagram.udp_offset + 4] = static_cast<uint8_t>(udp_length >> 8);
  packet[datagram.udp_offset + 5] = static_cast<uint8_t>(udp_length);
  return matches(packet, datagram.ipv6, datagram.udp_offset);
}

bool is_aggregate(const Datagram& datagram) {
  if (datagram.payload.size() > kLargestPacket) return true;
  for (size_t size = kSmallestPacket; size + kSmallestPacket <= datagram.payload.size();
       size += 4) {
    if (is_first_segment(datagram, size)) return true;
  }
  return false;
}

}  // namespace

uint32_t reference_icrc(Bytes ip_packet, bool ipv6, size_t udp_offset) {
  BitwiseCrc crc;
  for (int i = 0; i < 8; ++i) crc.feed(0xff);  // in place of a local route header
  for (const uint8_t byte : masked(ip_packet, ipv6, udp_offset)) crc.feed(byte);
  return crc.result();
}

IcrcVerdict check_icrc(const Datagram& datagram) {
  if (datagram.fragment) return IcrcVerdict::kFragment;
  if (datagram.destination_port != kRocePort) return IcrcVerdict::kNotRoce;
  if (datagram.cut) return IcrcVerdict::kCut;
  if (datagram.payload.size() < kSmallestPacket) return IcrcVerdict::kBad;
  if (matches(datagram.ip, datagram.ipv6, datagram.udp_offset)) return IcrcVerdict::kOk;
  return is_aggregate(datagram) ? IcrcVerdict::kAggregate : IcrcVerdict::kBad;
}

IcrcVerdict check_icrc(const CapturedFrame& frame) {
  const std::optional<Datagram> datagram = find_datagram(frame);
  return datagram ? check_icrc(*datagram) : IcrcVerdict::kNotRoce;
}

}  // namespace urxe::test
