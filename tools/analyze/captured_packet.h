// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "tools/analyze/datagram.h"

namespace urxe::analyze {

/// What the ICRC of a packet says.
enum class IcrcVerdict : uint8_t {
  kGood,
  kBad,
  kUnchecked,  ///< the capture cut the packet, or its IP header has options or no DF
};
IcrcVerdict check_icrc(const Datagram& datagram);

/// A packet, or why it is none. A packet that the capture cut is one if its BTH was kept.
struct CapturedPacket {
  uint64_t frame = 0;
  int64_t time_ns = 0;
  Flow flow;
  uint16_t identification = 0;  ///< IPv4; 0: none
  PacketView view;              ///< its payload is what the capture kept, then zeros
  bool cut = false;             ///< the payload is not all there
  size_t kept = 0;              ///< bytes from the BTH on that the capture kept
};

/// What a packet with a wrong ICRC says of itself, which may be wrong, too.
struct CorruptedPacket {
  uint64_t frame = 0;
  int64_t time_ns = 0;
  Flow flow;
  Opcode opcode;
  Qpn dest_qp;
  Psn psn;
};
/// Nullopt if it is too short.
std::optional<CorruptedPacket> read_corrupted(const CapturedFrame& frame, const Datagram& datagram);

/// Whether the capture kept this header; if not it reads as zeros.
bool has_kept(const CapturedPacket& packet, Ext header);

/// Whether lost packets of its service are sent again.
bool is_reliable(const CapturedPacket& packet);

/// Whether a packet with this IPv4 identification was sent before one with the `other`:
/// identifications count up. Nullopt if one of them is 0, which says nothing.
std::optional<bool> is_older(uint16_t identification, uint16_t other);

/// Keeps the bytes of the last packet that it decoded.
class PacketDecoder {
 public:
  /// Does not look at the ICRC. The error is one of parse()'s; kTruncated for a packet whose BTH
  /// the capture cut, too.
  Expected<CapturedPacket, DropReason> decode(const CapturedFrame& frame, const Datagram& datagram);

 private:
  std::vector<uint8_t> filled_;  ///< a cut packet with zeros for what is missing
};

}  // namespace urxe::analyze
