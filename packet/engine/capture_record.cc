// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture_record.h"

#include <cstring>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr uint32_t kSectionHeaderBlock = 0x0a0d0d0a;
constexpr uint32_t kInterfaceBlock = 1;
constexpr uint32_t kEnhancedPacketBlock = 6;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint16_t kLinkTypeRaw = 101;
constexpr size_t kSectionBytes = 28;
constexpr size_t kInterfaceBytes = kCaptureHeaderBytes - kSectionBytes;

constexpr size_t kIpv4Bytes = 20;
constexpr size_t kIpv6Bytes = 40;
constexpr size_t kUdpBytes = 8;
constexpr uint8_t kUdpProtocol = 17;

void store_le16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
}

/// The sum of RFC 1071 over `bytes`, an even number unless they are the last.
uint32_t add_words(uint32_t sum, std::span<const uint8_t> bytes) {
  size_t i = 0;
  for (; i + 1 < bytes.size(); i += 2) sum += load_be16(bytes.data() + i);
  if (i < bytes.size()) sum += static_cast<uint32_t>(bytes[i]) << 8;
  return sum;
}

uint16_t fold(uint32_t sum) {
  while ((sum >> 16) != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void put_udp(uint8_t* p, const Flow& flow, size_t udp_bytes) {
  store_be16(p, flow.source_port);
  store_be16(p + 2, kRoceUdpPort);
  store_be16(p + 4, static_cast<uint16_t>(udp_bytes));
  store_be16(p + 6, 0);
}

size_t put_ipv4(uint8_t* p, const Flow& flow, uint16_t identification, size_t udp_bytes) {
  p[0] = 0x45;
  p[1] = flow.traffic_class;
  store_be16(p + 2, static_cast<uint16_t>(kIpv4Bytes + udp_bytes));
  store_be16(p + 4, identification);
  store_be16(p + 6, 0x4000);  // don't fragment
  p[8] = flow.hop_limit;
  p[9] = kUdpProtocol;
  store_be16(p + 10, 0);
  std::memcpy(p + 12, flow.source.ipv4(), 4);
  std::memcpy(p + 16, flow.destination.ipv4(), 4);
  store_be16(p + 10, fold(add_words(0, {p, kIpv4Bytes})));
  put_udp(p + kIpv4Bytes, flow, udp_bytes);
  return kIpv4Bytes + kUdpBytes;
}

size_t put_ipv6(uint8_t* p, const Flow& flow, std::span<const uint8_t> bytes) {
  const size_t udp_bytes = kUdpBytes + bytes.size();
  store_be32(p, 0x60000000U | (static_cast<uint32_t>(flow.traffic_class) << 20));
  store_be16(p + 4, static_cast<uint16_t>(udp_bytes));
  p[6] = kUdpProtocol;
  p[7] = flow.hop_limit;
  std::memcpy(p + 8, flow.source.bytes.data(), 16);
  std::memcpy(p + 24, flow.destination.bytes.data(), 16);
  uint8_t* const udp = p + kIpv6Bytes;
  put_udp(udp, flow, udp_bytes);
  // Over IPv6 a UDP checksum of 0 means a broken packet (RFC 8200, 8.1).
  uint32_t sum = static_cast<uint32_t>(udp_bytes) + kUdpProtocol;
  sum = add_words(sum, {p + 8, 32});
  sum = add_words(sum, {udp, kUdpBytes});
  const uint16_t checksum = fold(add_words(sum, bytes));
  store_be16(udp + 6, checksum == 0 ? 0xffff : checksum);
  return kIpv6Bytes + kUdpBytes;
}

/// Returns the size of what it wrote; `out` has room for 48 bytes.
size_t put_ip_and_udp(uint8_t* out, const Flow& flow, uint16_t identification,
                      std::span<const uint8_t> bytes) {
  if (flow.source.is_ipv4() && flow.destination.is_ipv4()) {
    return put_ipv4(out, flow, identification, kUdpBytes + bytes.size());
  }
  return put_ipv6(out, flow, bytes);
}

}  // namespace

std::array<uint8_t, kCaptureHeaderBytes> capture_header() {
  std::array<uint8_t, kCaptureHeaderBytes> header{};
  uint8_t* p = header.data();
  store_le32(p, kSectionHeaderBlock);
  store_le32(p + 4, kSectionBytes);
  store_le32(p + 8, kByteOrderMagic);
  store_le16(p + 12, 1);         // version 1.0
  std::memset(p + 16, 0xff, 8);  // length of the section: not said
  store_le32(p + 24, kSectionBytes);
  p += kSectionBytes;
  store_le32(p, kInterfaceBlock);
  store_le32(p + 4, kInterfaceBytes);
  store_le16(p + 8, kLinkTypeRaw);
  store_le16(p + 16, 9);  // option if_tsresol: units of 10^-9 s
  store_le16(p + 18, 1);
  p[20] = 9;
  store_le32(p + 28, kInterfaceBytes);  // after an opt_endofopt of zeros
  return header;
}

void append_capture_record(std::vector<uint8_t>& out, Direction direction, uint64_t time_ns,
                           const Flow& flow, uint16_t identification,
                           std::span<const uint8_t> bytes) {
  constexpr size_t kBlockHeader = 28;
  constexpr size_t kBlockTrailer = 16;  // epb_flags, opt_endofopt, block length
  uint8_t headers[kIpv6Bytes + kUdpBytes];
  const size_t header_bytes = put_ip_and_udp(headers, flow, identification, bytes);
  const size_t captured = header_bytes + bytes.size();
  const size_t padded = (captured + 3) & ~size_t{3};
  const auto block_bytes = static_cast<uint32_t>(kBlockHeader + padded + kBlockTrailer);
  const size_t start = out.size();
  out.resize(start + block_bytes);

  uint8_t* const block = out.data() + start;
  store_le32(block, kEnhancedPacketBlock);
  store_le32(block + 4, block_bytes);
  store_le32(block + 8, 0);  // the interface
  store_le32(block + 12, static_cast<uint32_t>(time_ns >> 32));
  store_le32(block + 16, static_cast<uint32_t>(time_ns));
  store_le32(block + 20, static_cast<uint32_t>(captured));
  store_le32(block + 24, static_cast<uint32_t>(captured));
  std::memcpy(block + kBlockHeader, headers, header_bytes);
  if (!bytes.empty()) {
    std::memcpy(block + kBlockHeader + header_bytes, bytes.data(), bytes.size());
  }
  uint8_t* const options = block + kBlockHeader + padded;
  store_le16(options, 2);  // epb_flags
  store_le16(options + 2, 4);
  store_le32(options + 4, static_cast<uint32_t>(direction));
  store_le32(options + 8, 0);
  store_le32(options + 12, block_bytes);
}

}  // namespace urxe
