// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet/engine/raw/frame.h"
#include "packet/wire/ip/ip_header.h"
#include "packet/wire/tx_batch.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {

inline constexpr MacAddress kToMac = {2, 0, 0, 0, 0, 1};
inline constexpr MacAddress kFromMac = {2, 0, 0, 0, 0, 2};

inline Gid ipv6(uint8_t last) {
  uint8_t address[16] = {0xfd, 0x00, 0x00, 0x98};
  address[15] = last;
  return Gid::from_ipv6(address);
}

inline Flow flow_v4() {
  return {ipv4(10, 98, 0, 2), ipv4(10, 98, 0, 1), 0xc123, 0x6a, 7};
}
inline Flow flow_v6() {
  return {ipv6(2), ipv6(1), 0xc123, 0x6a, 7};
}

/// A frame and what the kernel says of it.
struct Frame {
  std::vector<uint8_t> bytes;
  VnetHeader vnet;
};

/// A frame with `packets` packets, as a sender would hand it to the kernel.
inline Frame make_frame(const Flow& flow, size_t packets, size_t payload_bytes, uint32_t qpn = 7,
                        const MacAddress& to = kToMac) {
  TxBatch::Limits limits;
  limits.segments_per_message = 64;
  limits.identification = Identification::kBySegment;
  TxBatch batch(limits);
  for (uint32_t psn = 0; psn < packets; ++psn) {
    append(batch, flow, send_only(qpn, psn), payload_bytes);
  }
  const TxBatch::Message& message = batch.messages()[0];
  Frame frame;
  std::array<uint8_t, kMaxFrameHeaderBytes> headers;
  const size_t size = write_frame_headers(headers.data(), frame.vnet, message, to, kFromMac);
  frame.bytes.assign(headers.begin(), headers.begin() + static_cast<std::ptrdiff_t>(size));
  const auto payload = batch.bytes(message);
  frame.bytes.insert(frame.bytes.end(), payload.begin(), payload.end());
  return frame;
}

/// After a change of the IPv4 header.
inline void repair_ipv4_checksum(Frame& frame) {
  uint8_t* const header = frame.bytes.data() + kEthernetHeaderBytes;
  store_be16(header + kIpv4ChecksumAt, 0);
  InternetChecksum checksum;
  checksum.add({header, size_t{header[0] & 0xfU} * 4});
  store_be16(header + kIpv4ChecksumAt, checksum.value());
}

/// Puts IPv4 options of `bytes` bytes (a multiple of 4), "no operation", into the frame.
inline void add_ipv4_options(Frame& frame, size_t bytes) {
  const auto at = frame.bytes.begin() + kEthernetHeaderBytes + kIpv4HeaderBytes;
  frame.bytes.insert(at, bytes, uint8_t{1});
  uint8_t* const header = frame.bytes.data() + kEthernetHeaderBytes;
  header[0] = static_cast<uint8_t>(header[0] + bytes / 4);
  store_be16(header + 2, static_cast<uint16_t>(load_be16(header + 2) + bytes));
  repair_ipv4_checksum(frame);
}

}  // namespace urxe::test
