// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/base/expected.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/gid.h"

namespace urxe {

/// The header that the RDMA IP CM service puts before the private data of REQ and SIDR_REQ
/// (annex A11.8.2), 36 bytes. Network byte order on the wire.
struct IpCmHeader {
  uint8_t ip_version = 4;  ///< 4 or 6
  uint16_t source_port = 0;
  Gid source;  ///< IPv4 as ::ffff:a.b.c.d
  Gid destination;

  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;
};
inline constexpr size_t kIpCmHeaderBytes = 36;
/// kMalformed: too short, or another version of the header or of IP.
Expected<IpCmHeader, MadDropReason> parse_ip_cm_header(std::span<const uint8_t> private_data);
std::array<uint8_t, kIpCmHeaderBytes> emit_ip_cm_header(const IpCmHeader& header);

}  // namespace urxe
