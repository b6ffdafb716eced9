// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/wire/roce_packet.h"

namespace urxe {

inline constexpr size_t kBthBytes = 12;
inline constexpr size_t kIcrcBytes = 4;

/// The invariant CRC (IBTA annex A17.3) over pseudo IP and UDP headers made from `flow` and over
/// `bytes`, the packet from the BTH up to, not including, the ICRC. IPv4: DF set, 20-byte header,
/// `ipv4_identification` as given. The result is stored little-endian on the wire.
uint32_t icrc(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes);

/// Writes the ICRC of a packet (up to 65535 bytes long) into its last four bytes. Does nothing if
/// it has no four bytes.
void write_icrc(const Flow& flow, uint16_t ipv4_identification, std::span<uint8_t> packet);

/// The same, if the payload lies elsewhere: the packet has `header_bytes` (12..60) bytes before it,
/// room for it, and a pad.
void write_icrc(const Flow& flow, uint16_t ipv4_identification, std::span<uint8_t> packet,
                size_t header_bytes, std::span<const uint8_t> payload);

/// Verifies the ICRC in the last four bytes of `bytes` (4..65535 long).
bool icrc_matches(const Flow& flow, uint16_t ipv4_identification, std::span<const uint8_t> bytes);

/// IPv4 only: the identification (16 bits) with which the ICRC of `bytes` is right; nullopt if
/// there is none. The CRC is affine in the identification, so 16 of the 32 check bits remain. It is
/// found soonest if it is `likely`.
std::optional<uint16_t> icrc_recover_identification(const Flow& flow,
                                                    std::span<const uint8_t> bytes,
                                                    uint16_t likely = 0);

}  // namespace urxe
