// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/frame_segments.h"

#include <algorithm>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/ethernet/frame_checksum.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

using Transport = FrameHeaders::Transport;

constexpr size_t kTcpFlagsAt = 13;
constexpr uint8_t kTcpFin = 0x01;
constexpr uint8_t kTcpPush = 0x08;
constexpr uint8_t kTcpCongestionReduced = 0x80;

size_t transport_header_bytes(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  if (headers.transport == Transport::kUdp) return kUdpHeaderBytes;
  return size_t{static_cast<uint8_t>(frame[headers.transport_at + 12] >> 4)} * 4;
}

}  // namespace

std::optional<FrameSegments> FrameSegments::of(std::span<const uint8_t> frame, Transport transport,
                                               size_t segment_size) {
  const auto headers = parse_frame_headers(frame);
  if (!headers || headers->transport != transport || headers->transport_bytes == 0 ||
      segment_size == 0) {
    return std::nullopt;
  }
  const size_t transport_bytes = transport_header_bytes(frame, *headers);
  const size_t header_bytes = headers->transport_at + transport_bytes;
  const size_t least = transport == Transport::kTcp ? kTcpHeaderBytes : kUdpHeaderBytes;
  if (header_bytes > kMaxHeaderBytes || transport_bytes < least ||
      transport_bytes >= headers->transport_bytes) {
    return std::nullopt;
  }
  const FrameSegments segments(frame, *headers, header_bytes, segment_size);
  if (segments.payload_ + segments.count() * header_bytes > kMaxBytes) return std::nullopt;
  return segments;
}

FrameSegments::FrameSegments(std::span<const uint8_t> frame, const FrameHeaders& headers,
                             size_t header_bytes, size_t segment_size)
    : frame_(frame),
      headers_(headers),
      header_bytes_(header_bytes),
      segment_size_(segment_size),
      payload_(headers.transport_at + headers.transport_bytes - header_bytes),
      count_((payload_ + segment_size - 1) / segment_size) {}

size_t FrameSegments::payload_bytes(size_t index) const {
  return std::min(segment_size_, payload_ - index * segment_size_);
}

/// Lengths, IPv4 identification, TCP sequence number and flags.
void FrameSegments::number(size_t index, uint8_t* out) const {
  uint8_t* const ip = out + headers_.network_at;
  uint8_t* const transport = out + headers_.transport_at;
  const size_t end = bytes(index);
  if (headers_.network == FrameHeaders::Network::kIpv4) {
    store_be16(ip + 2, static_cast<uint16_t>(end - headers_.network_at));
    store_be16(ip + 4, static_cast<uint16_t>(load_be16(ip + 4) + index));
  } else {
    store_be16(ip + 4, static_cast<uint16_t>(end - headers_.network_at - kIpv6HeaderBytes));
  }
  if (headers_.transport == Transport::kUdp) {
    store_be16(transport + 4, static_cast<uint16_t>(end - headers_.transport_at));
    return;
  }
  const auto offset = static_cast<uint32_t>(index * segment_size_);
  store_be32(transport + 4, load_be32(transport + 4) + offset);
  uint8_t flags = transport[kTcpFlagsAt];
  if (index + 1 != count_) flags &= static_cast<uint8_t>(~(kTcpFin | kTcpPush));
  if (index != 0) flags &= static_cast<uint8_t>(~kTcpCongestionReduced);
  transport[kTcpFlagsAt] = flags;
}

void FrameSegments::write(size_t index, uint8_t* out) const {
  std::memcpy(out, frame_.data(), header_bytes_);
  std::memcpy(out + header_bytes_, frame_.data() + header_bytes_ + index * segment_size_,
              payload_bytes(index));
  number(index, out);
  write_checksums({out, bytes(index)});
}

}  // namespace urxe
