// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/roce_packet.h"
#include "tests/support/datagram.h"

namespace urxe::test {

/// A captured datagram as an engine that sees IP headers would return it.
inline RxPacket rx_packet(const Datagram& datagram) {
  RxPacket packet;
  packet.bytes = datagram.payload;
  const auto gid = [&](std::span<const uint8_t> address) {
    return datagram.ipv6 ? Gid::from_ipv6(address.data()) : Gid::from_ipv4(address.data());
  };
  packet.flow = {gid(datagram.source), gid(datagram.destination), datagram.source_port,
                 datagram.traffic_class, datagram.hop_limit};
  packet.flow.flow_label = datagram.flow_label;
  if (!datagram.ipv6) packet.ipv4_identification = datagram.identification;
  return packet;
}

}  // namespace urxe::test
