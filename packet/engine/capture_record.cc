// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/capture_record.h"

#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr uint32_t kSectionHeaderBlock = 0x0a0d0d0a;
constexpr uint32_t kInterfaceBlock = 1;
constexpr uint32_t kEnhancedPacketBlock = 6;
constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr uint16_t kLinkTypeRaw = 101;
/// epb_flags, of 4 bytes. Behind it are opt_endofopt and the length of the block.
constexpr uint32_t kFlagsOption = 4U << 16 | 2;
constexpr size_t kSectionBytes = 28;
constexpr size_t kInterfaceBytes = kCaptureHeaderBytes - kSectionBytes;

void store_le16(uint8_t* p, uint16_t v) {
  p[0] = static_cast<uint8_t>(v);
  p[1] = static_cast<uint8_t>(v >> 8);
}

size_t padded_size(size_t captured) {
  return (captured + 3) & ~size_t{3};
}

/// Over IPv6 a UDP checksum of 0 means a broken packet (RFC 8200, 8.1). `ip` is its header.
uint16_t ipv6_udp_checksum(const uint8_t* ip, const uint8_t* udp, std::span<const uint8_t> bytes) {
  InternetChecksum checksum;
  checksum.add_word(static_cast<uint32_t>(kUdpHeaderBytes + bytes.size()) + kUdpProtocol);
  checksum.add({ip + 8, 32});  // both addresses
  checksum.add({udp, kUdpHeaderBytes});
  checksum.add(bytes);
  return checksum.value() == 0 ? 0xffff : checksum.value();
}

/// Returns the number of bytes written; `out` has room for 48.
size_t write_ip_and_udp(uint8_t* out, const Flow& flow, uint16_t identification,
                        std::span<const uint8_t> bytes) {
  const VariantFields fields{flow.traffic_class, flow.hop_limit, 0};
  const size_t udp_bytes = kUdpHeaderBytes + bytes.size();
  if (is_ipv4(flow)) {
    const size_t ip_bytes = write_ipv4_header(out, flow, fields, identification, udp_bytes, 0);
    store_be16(out + kIpv4ChecksumAt, ipv4_checksum(out));
    return ip_bytes + write_udp_header(out + ip_bytes, flow, udp_bytes, 0);
  }
  const size_t ip_bytes = write_ipv6_header(out, flow, fields, udp_bytes);
  uint8_t* const udp = out + ip_bytes;
  write_udp_header(udp, flow, udp_bytes, 0);
  return ip_bytes + write_udp_header(udp, flow, udp_bytes, ipv6_udp_checksum(out, udp, bytes));
}

}  // namespace

std::array<uint8_t, kCaptureHeaderBytes> capture_header() {
  std::array<uint8_t, kCaptureHeaderBytes> header{};
  uint8_t* p = header.data();
  store_le32(p, kSectionHeaderBlock);
  store_le32(p + 4, kSectionBytes);
  store_le32(p + 8, kByteOrderMagic);
  store_le16(p + 12, 1);         // version 1.0
  std::memset(p + 16, 0xff, 8);  // length of the section: unknown
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
  uint8_t headers[kIpv6HeaderBytes + kUdpHeaderBytes];
  const size_t header_bytes = write_ip_and_udp(headers, flow, identification, bytes);
  const size_t captured = header_bytes + bytes.size();
  const size_t padded = padded_size(captured);
  const auto block_bytes = static_cast<uint32_t>(kCaptureRecordOverhead + padded);
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
  std::memcpy(block + kCaptureRecordBegin, headers, header_bytes);
  if (!bytes.empty()) {
    std::memcpy(block + kCaptureRecordBegin + header_bytes, bytes.data(), bytes.size());
  }
  uint8_t* const options = block + kCaptureRecordBegin + padded;
  store_le32(options, kFlagsOption);
  store_le32(options + 4, static_cast<uint32_t>(direction));
  store_le32(options + 8, 0);
  store_le32(options + 12, block_bytes);
}

bool is_capture_record(std::span<const uint8_t, kCaptureRecordBegin> begin,
                       std::span<const uint8_t, kCaptureRecordEnd> end) {
  const uint32_t block_bytes = load_le32(&begin[4]);
  const uint32_t captured = load_le32(&begin[20]);
  return load_le32(begin.data()) == kEnhancedPacketBlock && load_le32(&begin[8]) == 0 &&
         load_le32(&begin[24]) == captured &&
         block_bytes == kCaptureRecordOverhead + padded_size(captured) &&
         load_le32(end.data()) == kFlagsOption && load_le32(&end[8]) == 0 &&
         load_le32(&end[12]) == block_bytes;
}

}  // namespace urxe
