// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/grh.h"

#include <cstring>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr size_t kIpv4Bytes = 20;
constexpr size_t kUdpBytes = 8;
constexpr uint8_t kUdp = 17;
constexpr uint16_t kDontFragment = 0x4000;

uint16_t ipv4_checksum(const uint8_t* header) {
  uint32_t sum = 0;
  for (size_t i = 0; i < kIpv4Bytes; i += 2) sum += load_be16(header + i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void put_ipv4(uint8_t* out, const Flow& flow, uint16_t identification, size_t packet_bytes) {
  out[0] = 0x45;
  out[1] = flow.traffic_class;
  store_be16(out + 2, static_cast<uint16_t>(kIpv4Bytes + kUdpBytes + packet_bytes));
  store_be16(out + 4, identification);
  store_be16(out + 6, kDontFragment);
  out[8] = flow.hop_limit;
  out[9] = kUdp;
  std::memcpy(out + 12, flow.source.ipv4(), 4);
  std::memcpy(out + 16, flow.destination.ipv4(), 4);
  store_be16(out + 10, ipv4_checksum(out));
}

void put_ipv6(uint8_t* out, const Flow& flow, size_t packet_bytes) {
  store_be32(out,
             0x60000000U | (static_cast<uint32_t>(flow.traffic_class) << 20) | flow.flow_label);
  store_be16(out + 4, static_cast<uint16_t>(kUdpBytes + packet_bytes));
  out[6] = kUdp;
  out[7] = flow.hop_limit;
  std::memcpy(out + 8, flow.source.bytes.data(), 16);
  std::memcpy(out + 24, flow.destination.bytes.data(), 16);
}

}  // namespace

std::array<uint8_t, kGrhBytes> make_grh(const Flow& flow, uint16_t ipv4_identification,
                                        size_t packet_bytes) {
  std::array<uint8_t, kGrhBytes> grh{};
  if (flow.source.is_ipv4()) {
    put_ipv4(grh.data() + (kGrhBytes - kIpv4Bytes), flow, ipv4_identification, packet_bytes);
  } else {
    put_ipv6(grh.data(), flow, packet_bytes);
  }
  return grh;
}

}  // namespace urxe
