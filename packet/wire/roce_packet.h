// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "packet/wire/headers.h"
#include "packet/wire/types.h"

namespace urxe {

/// The IP and UDP fields that matter to RoCEv2. The UDP destination port is always 4791.
struct Flow {
  Gid source;
  Gid destination;
  uint16_t source_port = kFirstSourcePort;  ///< UDP, host order
  uint8_t traffic_class = 0;                ///< DSCP and ECN
  uint8_t hop_limit = kDefaultHopLimit;
  uint32_t flow_label = 0;  ///< IPv6, 20 bits, of received packets; sent ones have 0
  /// 0 to 15: the host's priority for sent packets, if the engine can tell it; received ones have
  /// 0.
  uint8_t service_level = 0;
  friend bool operator==(const Flow&, const Flow&) = default;
};

/// A received UDP datagram, or a segment of one. The bytes are those from BTH to ICRC.
struct RxPacket {
  std::span<const uint8_t> bytes;
  Flow flow;
  /// IPv4 identification; nullopt if the engine cannot see it (a UDP socket). Ignored for IPv6.
  std::optional<uint16_t> ipv4_identification;
  /// False: nothing could damage it on its way, and its last four bytes are no ICRC.
  bool has_icrc = true;
  /// If the identification is not known: the one to try first.
  uint16_t likely_identification = 0;
  /// Whether it has come through memory that its sender shares with this process.
  bool through_memory = false;
};

/// Received packets of one flow, back to back, each `segment_size` bytes long except for a shorter
/// last one: a datagram as the kernel coalesces it (UDP_GRO), or a part of it. `segment_size` is
/// not 0.
struct PacketRun {
  Flow flow;
  size_t segment_size = 0;
  std::span<const uint8_t> bytes;
  bool is_start = true;  ///< of a datagram, or the whole of it; false: another part

  [[nodiscard]] size_t packets() const { return (bytes.size() + segment_size - 1) / segment_size; }
  /// The packet that begins at offset `at` of `bytes`.
  [[nodiscard]] std::span<const uint8_t> packet_at(size_t at) const {
    return bytes.subspan(at, std::min(segment_size, bytes.size() - at));
  }
  /// A guess at the identification of the packet at offset `at` of `bytes`: those of a datagram
  /// that was segmented, or is to be, count from 0.
  [[nodiscard]] uint16_t likely_identification(size_t at) const {
    return static_cast<uint16_t>(is_start ? at / segment_size : 0);
  }
  /// The packet there, as one whose identification the engine cannot see.
  [[nodiscard]] RxPacket received_at(size_t at) const {
    return {.bytes = packet_at(at),
            .flow = flow,
            .ipv4_identification = std::nullopt,
            .likely_identification = likely_identification(at)};
  }
  /// Adds all packets to a vector, as received_at().
  template <class Packets>
  void append_to(Packets& packets) const {
    for (size_t at = 0; at < bytes.size(); at += segment_size) packets.push_back(received_at(at));
  }
  /// Calls `visit(packet)` with each packet's bytes.
  template <class Visit>
  void for_each(Visit visit) const {
    for (size_t at = 0; at < bytes.size(); at += segment_size) visit(packet_at(at));
  }
};

/// Why a packet was dropped. Each has a counter, which the user sees under its name.
enum class DropReason : uint8_t {
  // found by parse()
  kTruncated,         ///< shorter than its headers and ICRC
  kTransportVersion,  ///< TVer is not 0
  kUnknownOpcode,
  kBadPadding,         ///< pad count larger than the payload, or length not a multiple of 4
  kUnexpectedPayload,  ///< payload, but the opcode has none
  kPayloadSize,        ///< more than the largest path MTU, 4096
  kBadIcrc,
  // found by the transport
  kUnknownQp,
  kBadPKey,
  kBadQKey,
  kWrongService,   ///< the opcode is of another service than the queue pair
  kWrongPeer,      ///< not from the address that the queue pair is connected to
  kQpState,        ///< the queue pair does not receive in its state
  kNoSuchGid,      ///< addressed to a GID that the device does not have
  kUnexpectedPsn,  ///< a response to no outstanding request
  kOutOfSequence,  ///< a request ahead of the expected PSN
  kMalformedResponse,
  kMalformedRequest,
  kNoReceive,  ///< UC, UD: no receive work queue element
  kNotOwner,   ///< for a process that has ended
  kCount,
};
std::string_view drop_reason_name(DropReason reason);  ///< "bad_icrc"

/// A packet that has passed every check that needs no state. Valid by construction: `headers` holds
/// the headers of the opcode, and `payload` (without pad) lies inside the packet.
struct PacketView {
  Headers headers;
  std::span<const uint8_t> payload;
  uint16_t ipv4_identification = 0;  ///< as received, or found by the ICRC; 0 for IPv6
};

/// Takes any bytes. Verifies the ICRC, if there is one; if the IPv4 identification is not known,
/// the ICRC must be right for some identification (see icrc.h).
Expected<PacketView, DropReason> parse(const RxPacket& packet);
/// The same. Fills in `view`, which must be newly made, and returns nullopt; or returns why the
/// packet is to be dropped. If that is kUnknownOpcode, `view` has the BTH.
std::optional<DropReason> parse(const RxPacket& packet, PacketView& view);

/// Bytes of the UDP payload: BTH, extensions, payload, pad to 4, ICRC.
size_t packet_size(Opcode opcode, size_t payload_bytes);

/// Writes BTH and extension headers (with the pad count that `payload_bytes` needs); returns their
/// size. `out` has room for 60 bytes.
size_t write_headers(uint8_t* out, const Headers& headers, size_t payload_bytes);

}  // namespace urxe
