// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/roce_frame.h"

#include <cstring>

#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr size_t kChecksumInUdp = 6;

/// The sum that the Internet checksum is made of, eight bytes at a time; its byte order does not
/// matter until the end (RFC 1071, section 2).
uint64_t sum_of(std::span<const uint8_t> bytes) {
  uint64_t sum = 0;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    sum += word;
    sum += sum < word ? 1 : 0;
  }
  if (i < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    sum += word;
    sum += sum < word ? 1 : 0;
  }
  return sum;
}

}  // namespace

size_t roce_header_bytes(const Flow& flow) {
  return kEthernetHeaderBytes + (is_ipv4(flow) ? kIpv4HeaderBytes : kIpv6HeaderBytes) +
         kUdpHeaderBytes;
}

size_t write_roce_headers(uint8_t* out, const Flow& flow, uint16_t identification,
                          size_t packet_bytes, const MacAddress& to, const MacAddress& from) {
  const bool ipv4 = is_ipv4(flow);
  const size_t udp_bytes = kUdpHeaderBytes + packet_bytes;
  const VariantFields fields{.traffic_class = flow.traffic_class,
                             .hop_limit = flow.hop_limit == 0 ? kDefaultHopLimit : flow.hop_limit,
                             .flow_label = 0};
  size_t at = write_ethernet(out, to, from, ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  if (ipv4) {
    write_ipv4_header(out + at, flow, fields, identification, udp_bytes, 0);
    store_be16(out + at + kIpv4ChecksumAt, ipv4_checksum(out + at));
    at += kIpv4HeaderBytes;
  } else {
    at += write_ipv6_header(out + at, flow, fields, udp_bytes);
  }
  return at + write_udp_header(out + at, flow, udp_bytes, 0);
}

void write_udp_checksum(std::span<uint8_t> frame, const Flow& flow) {
  const auto udp = frame.subspan(kEthernetHeaderBytes + kIpv6HeaderBytes);
  std::memset(udp.data() + kChecksumInUdp, 0, 2);
  uint64_t sum = sum_of(udp);
  for (const Gid* const address : {&flow.source, &flow.destination}) {
    const uint64_t more = sum_of(address->bytes);
    sum += more;
    sum += sum < more ? 1 : 0;
  }
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  uint16_t in_memory_order = static_cast<uint16_t>(sum + (sum >> 16));
  uint8_t bytes[2];
  std::memcpy(bytes, &in_memory_order, 2);
  InternetChecksum checksum;
  checksum.add(bytes);
  checksum.add_word(kUdpProtocol);
  checksum.add_word(static_cast<uint32_t>(udp.size()));
  const uint16_t value = checksum.value();
  store_be16(udp.data() + kChecksumInUdp, value == 0 ? 0xffff : value);
}

}  // namespace urxe
