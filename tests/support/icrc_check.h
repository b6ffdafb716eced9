// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "tests/support/capture_file.h"
#include "tests/support/datagram.h"

namespace urxe::test {

// An ICRC written from the specification's text, bit by bit, sharing nothing with the library: the
// second opinion that the library's own is held against. Slow.

enum class IcrcVerdict : uint8_t {
  kOk,
  kBad,
  kNotRoce,    ///< not UDP to port 4791
  kFragment,   ///< a fragment of an IPv4 packet: not all of the covered bytes are there
  kCut,        ///< the capture did not keep all bytes
  kAggregate,  ///< segmentation offload: several packets under one header, none checked
};

/// The four ICRC bytes, first on the wire lowest, for a packet that runs from its IP header to its
/// last byte before the ICRC; the lengths in its headers include the ICRC.
uint32_t reference_icrc(std::span<const uint8_t> ip_packet, bool ipv6, size_t udp_offset);

IcrcVerdict check_icrc(const Datagram& datagram);
IcrcVerdict check_icrc(const CapturedFrame& frame);

}  // namespace urxe::test
