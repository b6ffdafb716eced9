// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ip/grh.h"

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {

std::array<uint8_t, kGrhBytes> make_grh(const Flow& flow, uint16_t ipv4_identification,
                                        size_t packet_bytes) {
  std::array<uint8_t, kGrhBytes> grh{};
  const VariantFields fields{flow.traffic_class, flow.hop_limit, flow.flow_label};
  const size_t udp_bytes = kUdpHeaderBytes + packet_bytes;
  if (is_ipv4(flow)) {
    uint8_t* const header = grh.data() + (kGrhBytes - kIpv4HeaderBytes);
    write_ipv4_header(header, flow, fields, ipv4_identification, udp_bytes, 0);
    store_be16(header + kIpv4ChecksumAt, ipv4_checksum(header));
  } else {
    write_ipv6_header(grh.data(), flow, fields, udp_bytes);
  }
  return grh;
}

}  // namespace urxe
