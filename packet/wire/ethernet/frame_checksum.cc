// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/frame_checksum.h"

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

using Network = FrameHeaders::Network;
using Transport = FrameHeaders::Transport;

constexpr size_t kTcpChecksumAt = 16;
constexpr size_t kUdpChecksumAt = 6;

size_t checksum_at(const FrameHeaders& headers) {
  return headers.transport == Transport::kTcp ? kTcpChecksumAt : kUdpChecksumAt;
}

std::span<const uint8_t> ipv4_header(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  const size_t bytes = size_t{frame[headers.network_at] & 0xfU} * 4;
  return frame.subspan(headers.network_at, bytes);
}

uint16_t ipv4_header_sum(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  InternetChecksum checksum;
  checksum.add(ipv4_header(frame, headers));
  return checksum.value();
}

/// Over the pseudo header, the header and the payload.
uint16_t transport_sum(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  const bool ipv4 = headers.network == Network::kIpv4;
  const bool tcp = headers.transport == Transport::kTcp;
  InternetChecksum checksum;
  checksum.add(frame.subspan(headers.network_at + (ipv4 ? 12 : 8), ipv4 ? 8 : 32));
  checksum.add_word(tcp ? kTcpProtocol : kUdpProtocol);
  checksum.add_word(static_cast<uint32_t>(headers.transport_bytes));
  checksum.add(frame.subspan(headers.transport_at, headers.transport_bytes));
  return checksum.value();
}

/// A UDP datagram may end before its IP packet does, but the checksum covers the datagram.
bool length_is_right(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  return headers.transport == Transport::kTcp ||
         load_be16(frame.data() + headers.transport_at + 4) == headers.transport_bytes;
}

}  // namespace

void write_checksums(std::span<uint8_t> frame) {
  const auto headers = parse_frame_headers(frame);
  if (!headers) return;
  if (headers->network == Network::kIpv4) {
    uint8_t* const at = frame.data() + headers->network_at + kIpv4ChecksumAt;
    store_be16(at, 0);
    store_be16(at, ipv4_header_sum(frame, *headers));
  }
  if (headers->transport_bytes == 0 || !length_is_right(frame, *headers)) return;
  uint8_t* const at = frame.data() + headers->transport_at + checksum_at(*headers);
  store_be16(at, 0);
  const uint16_t sum = transport_sum(frame, *headers);
  // In UDP 0 means that there is none.
  store_be16(at, sum == 0 && headers->transport == Transport::kUdp ? uint16_t{0xffff} : sum);
}

bool checksums_are_right(std::span<const uint8_t> frame, const FrameHeaders& headers,
                         bool transport_is_right) {
  if (headers.network != Network::kIpv4 || headers.transport_bytes == 0) return false;
  if (ipv4_header_sum(frame, headers) != 0 || !length_is_right(frame, headers)) return false;
  if (transport_is_right) return true;
  const uint16_t written = load_be16(frame.data() + headers.transport_at + checksum_at(headers));
  if (headers.transport == Transport::kUdp && written == 0) return false;
  return transport_sum(frame, headers) == 0;
}

}  // namespace urxe
