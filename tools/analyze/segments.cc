// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/segments.h"

#include <algorithm>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"

namespace urxe::analyze {
namespace {

constexpr size_t kSmallestPacket = kBthBytes + kIcrcBytes;

/// Whether a packet of the same partition may begin `at`. It costs less than an ICRC, which
/// decides.
bool may_begin(std::span<const uint8_t> bytes, size_t at) {
  constexpr uint8_t kVersion = 0x0f;
  constexpr size_t kPKeyAt = 2;
  return (bytes[at + 1] & kVersion) == 0 &&
         load_be16(bytes.data() + at + kPKeyAt) == load_be16(bytes.data() + kPKeyAt);
}

}  // namespace

std::optional<size_t> find_segment_size(const Datagram& datagram) {
  const auto& bytes = datagram.bytes;
  if (bytes.size() != datagram.wire_size || !datagram.plain_header) return std::nullopt;
  // All headers, and padded payloads, are multiples of four bytes.
  for (size_t size = kSmallestPacket;
       size <= kLargestPacket && size + kSmallestPacket <= bytes.size(); size += 4) {
    if (may_begin(bytes, size) &&
        icrc_matches(datagram.flow, datagram.identification, bytes.first(size))) {
      return size;
    }
  }
  return std::nullopt;
}

Datagram segment_at(const Datagram& datagram, size_t size, size_t at) {
  Datagram segment = datagram;
  segment.bytes = datagram.bytes.subspan(at, std::min(size, datagram.bytes.size() - at));
  segment.wire_size = segment.bytes.size();
  segment.identification = static_cast<uint16_t>(datagram.identification + at / size);
  return segment;
}

}  // namespace urxe::analyze
