// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "packet/wire/roce_packet.h"

namespace urxe::test {

inline Flow flow_v4() {
  const uint8_t a[4] = {192, 0, 2, 1};
  const uint8_t b[4] = {192, 0, 2, 2};
  return {Gid::from_ipv4(a), Gid::from_ipv4(b), 0xc123, 0, 64};
}

inline Flow flow_v6() {
  const uint8_t a[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const uint8_t b[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  return {Gid::from_ipv6(a), Gid::from_ipv6(b), 0xc123, 0, 64};
}

/// Every field different from its default and with its highest bit set, so that a field that is cut
/// or swapped with another one shows.
inline Headers full_headers(Opcode opcode) {
  Headers h;
  h.bth = {opcode, true, false, true, false, true, PKey(0x8123), Qpn(0x876543), Psn(0xfedcba)};
  h.feth = {0x9, 2};
  h.reth = {0x8123456789abcdefU, RKey(0x9abcdef0), 0x80000001};
  h.atomic = {0xf0e1d2c3b4a59687U, RKey(0x89abcdef), 0xa1a2a3a4a5a6a7a8U, 0xb1b2b3b4b5b6b7b8U};
  h.aeth = {0x9f, Msn(0xabcdef)};
  h.atomic_original = 0xc1c2c3c4c5c6c7c8U;
  h.immediate_be = 0xd4d3d2d1;
  h.invalidate = RKey(0xe1e2e3e4);
  h.deth = {QKey(0x80010000), Qpn(0x9a8b7c)};
  h.xrc_srq = Srqn(0xf1e2d3);
  return h;
}

/// Recomputes the ICRC in the last four bytes.
inline void reseal(std::vector<uint8_t>& bytes, const Flow& flow, uint16_t identification = 0) {
  const size_t covered = bytes.size() - 4;
  store_le32(bytes.data() + covered, icrc(flow, identification, {bytes.data(), covered}));
}

/// A whole packet with a payload of 1, 2, 3, ...
inline std::vector<uint8_t> make_packet(const Flow& flow, const Headers& headers,
                                        size_t payload_bytes, uint16_t identification = 0) {
  std::vector<uint8_t> bytes(packet_size(headers.bth.opcode, payload_bytes));
  const size_t start = write_headers(bytes.data(), headers, payload_bytes);
  for (size_t i = 0; i < payload_bytes; ++i) bytes[start + i] = static_cast<uint8_t>(i + 1);
  reseal(bytes, flow, identification);
  return bytes;
}

}  // namespace urxe::test
