// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tests/support/capture_file.h"

namespace urxe::test {

/// A UDP datagram found in a frame. Spans point into the frame.
struct Datagram {
  bool ipv6 = false;
  std::span<const uint8_t> ip;           ///< from the IP header to the end of the IP packet
  std::span<const uint8_t> source;       ///< 4 or 16 bytes
  std::span<const uint8_t> destination;  ///< 4 or 16 bytes
  uint16_t identification = 0;           ///< IPv4
  bool dont_fragment = false;            ///< IPv4
  bool fragment = false;                 ///< of IPv4: no field below is set
  bool cut = false;                      ///< the capture did not keep all of it
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 0;
  uint32_t flow_label = 0;  ///< IPv6
  size_t udp_offset = 0;    ///< of the UDP header in `ip`
  uint16_t source_port = 0;
  uint16_t destination_port = 0;
  std::span<const uint8_t> payload;
};

/// The UDP datagram in `frame`: Ethernet with any number of VLAN tags, raw IP, Linux cooked, or
/// null encapsulation. nullopt where there is none.
std::optional<Datagram> find_datagram(const CapturedFrame& frame);

}  // namespace urxe::test
