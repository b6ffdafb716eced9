// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/captured_packet.h"

#include <algorithm>
#include <vector>

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
  packet.cut = datagram.bytes.size() < datagram.wire_size;
  RxPacket received{datagram.bytes, datagram.flow, datagram.identification, false};
  if (packet.cut) {
    const size_t kept = datagram.bytes.size();
    if (kept == 0 || kept < opcode_info(Opcode(datagram.bytes[0])).header_bytes) {
      return Unexpected<DropReason>(DropReason::kTruncated);
    }
    filled_.assign(datagram.bytes.begin(), datagram.bytes.end());
    filled_.resize(datagram.wire_size);
    received.bytes = filled_;
  }
  const auto view = parse(received);
  if (!view) return Unexpected<DropReason>(view.error());
  packet.view = *view;
  return packet;
}

bool is_reliable(const CapturedPacket& packet) {
  return packet.view.headers.bth.opcode.service() != Service::kUc;
}

std::optional<bool> is_older(uint16_t identification, uint16_t other) {
  if (identification == 0 || other == 0) return std::nullopt;
  return static_cast<int16_t>(identification - other) < 0;
}

}  // namespace urxe::analyze
