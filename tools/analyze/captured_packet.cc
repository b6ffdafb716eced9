// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/captured_packet.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"

namespace urxe::analyze {

IcrcVerdict check_icrc(const Datagram& datagram) {
  constexpr size_t kSmallest = 16;
  const bool whole = datagram.bytes.size() == datagram.wire_size;
  if (!whole || !datagram.plain_header || datagram.wire_size < kSmallest) {
    return IcrcVerdict::kUnchecked;
  }
  const bool good = icrc_matches(datagram.flow, datagram.identification, datagram.bytes);
  return good ? IcrcVerdict::kGood : IcrcVerdict::kBad;
}

Expected<CapturedPacket, DropReason> PacketDecoder::decode(const CapturedFrame& frame,
                                                           const Datagram& datagram) {
  CapturedPacket packet;
  packet.frame = frame.number;
  packet.time_ns = frame.time_ns;
  packet.flow = datagram.flow;
  packet.identification = datagram.identification;
  packet.kept = datagram.bytes.size();
  packet.cut = datagram.bytes.size() < datagram.wire_size;
  RxPacket received{datagram.bytes, datagram.flow, datagram.identification, false};
  if (packet.cut) {
    if (packet.kept < kBthBytes) return Unexpected<DropReason>(DropReason::kTruncated);
    filled_.assign(datagram.bytes.begin(), datagram.bytes.end());
    filled_.resize(datagram.wire_size);
    received.bytes = filled_;
  }
  const auto view = parse(received);
  if (!view) return Unexpected<DropReason>(view.error());
  packet.view = *view;
  return packet;
}

std::optional<CorruptedPacket> read_corrupted(const CapturedFrame& frame,
                                              const Datagram& datagram) {
  constexpr size_t kQpnAt = 5;
  constexpr size_t kPsnAt = 9;
  const auto& bytes = datagram.bytes;
  if (bytes.size() < kBthBytes) return std::nullopt;
  return CorruptedPacket{frame.number,
                         frame.time_ns,
                         datagram.flow,
                         Opcode(bytes[0]),
                         Qpn(load_be24(&bytes[kQpnAt])),
                         Psn(load_be24(&bytes[kPsnAt]))};
}

bool has_kept(const CapturedPacket& packet, Ext header) {
  // In the order of the wire.
  constexpr std::pair<Ext, size_t> kHeaders[] = {{Ext::kXrceth, 4},     {Ext::kDeth, 8},
                                                 {Ext::kFeth, 4},       {Ext::kReth, 16},
                                                 {Ext::kAtomicEth, 28}, {Ext::kAeth, 4}};
  const Ext extensions = opcode_info(packet.view.headers.bth.opcode).extensions;
  size_t end = kBthBytes;
  for (const auto& [ext, bytes] : kHeaders) {
    if (!has(extensions, ext)) continue;
    end += bytes;
    if (ext == header) return packet.kept >= end;
  }
  return false;
}

bool is_reliable(const CapturedPacket& packet) {
  return packet.view.headers.bth.opcode.service() != Service::kUc;
}

std::optional<bool> is_older(uint16_t identification, uint16_t other) {
  if (identification == 0 || other == 0) return std::nullopt;
  return static_cast<int16_t>(identification - other) < 0;
}

}  // namespace urxe::analyze
