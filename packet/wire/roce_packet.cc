// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/roce_packet.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"

namespace urxe {
namespace {

constexpr size_t kMaxPayload = 4096;
constexpr size_t kMaxHeaders = 60;
constexpr size_t kMaxPacket = kMaxHeaders + kMaxPayload + kIcrcBytes;

constexpr size_t pad_count(size_t payload_bytes) {
  return (0 - payload_bytes) & 3;
}

/// Another process may write to a packet while it is parsed (packet/engine/shm/): the compiler must
/// not read again what was read before.
void read_once() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// A copy of the BTH, which is checked before it is used.
std::array<uint8_t, kBthBytes> copy_bth(const uint8_t* bytes) {
  std::array<uint8_t, kBthBytes> copy;
  std::memcpy(copy.data(), bytes, kBthBytes);
  read_once();
  return copy;
}

/// Verifies the ICRC, if there is one. Sets the IPv4 identification (0 for IPv6).
bool check_icrc(const RxPacket& packet, uint16_t& identification) {
  const bool ipv4 = packet.flow.source.is_ipv4() && packet.flow.destination.is_ipv4();
  if (ipv4 && packet.has_icrc && !packet.ipv4_identification) {
    const auto recovered =
        icrc_recover_identification(packet.flow, packet.bytes, packet.likely_identification);
    if (recovered) identification = *recovered;
    return recovered.has_value();
  }
  identification = ipv4 ? packet.ipv4_identification.value_or(0) : uint16_t{0};
  return !packet.has_icrc || icrc_matches(packet.flow, identification, packet.bytes);
}

Bth load_bth(const uint8_t* p) {
  Bth bth;
  bth.opcode = Opcode(p[0]);
  bth.solicited = (p[1] & 0x80) != 0;
  bth.mig_req = (p[1] & 0x40) != 0;
  bth.pkey = PKey(load_be16(p + 2));
  bth.fecn = (p[4] & 0x80) != 0;
  bth.becn = (p[4] & 0x40) != 0;
  bth.dest_qp = Qpn(load_be24(p + 5));
  bth.ack_req = (p[8] & 0x80) != 0;
  bth.psn = Psn(load_be24(p + 9));
  return bth;
}

void store_bth(uint8_t* p, const Bth& bth, size_t pad) {
  p[0] = bth.opcode.value;
  p[1] = static_cast<uint8_t>((bth.solicited ? 0x80U : 0U) | (bth.mig_req ? 0x40U : 0U) |
                              (static_cast<unsigned>(pad) << 4));
  store_be16(p + 2, bth.pkey.value());
  p[4] = static_cast<uint8_t>((bth.fecn ? 0x80U : 0U) | (bth.becn ? 0x40U : 0U));
  store_be24(p + 5, bth.dest_qp.value());
  p[8] = bth.ack_req ? 0x80 : 0;
  store_be24(p + 9, bth.psn.value());
}

Feth load_feth(const uint8_t* p) {
  const uint32_t bits = load_be32(p);
  return {static_cast<uint8_t>(bits & 0xf), static_cast<uint8_t>(bits >> 4 & 3)};
}

void store_feth(uint8_t* p, const Feth& feth) {
  store_be32(p, (feth.selectivity & 3U) << 4 | (feth.placement & 0xfU));
}

void load_reth(const uint8_t* p, Reth& reth) {
  reth.va = load_be64(p);
  reth.rkey = RKey(load_be32(p + 8));
  reth.dma_length = load_be32(p + 12);
}

void store_reth(uint8_t* p, const Reth& reth) {
  store_be64(p, reth.va);
  store_be32(p + 8, reth.rkey.value());
  store_be32(p + 12, reth.dma_length);
}

void load_atomic(const uint8_t* p, AtomicEth& atomic) {
  atomic.va = load_be64(p);
  atomic.rkey = RKey(load_be32(p + 8));
  atomic.swap_or_add = load_be64(p + 12);
  atomic.compare = load_be64(p + 20);
}

void store_atomic(uint8_t* p, const AtomicEth& atomic) {
  store_be64(p, atomic.va);
  store_be32(p + 8, atomic.rkey.value());
  store_be64(p + 12, atomic.swap_or_add);
  store_be64(p + 20, atomic.compare);
}

// In the order of the headers on the wire. `p` has room for all of `extensions`. load_extensions()
// reads each byte once.
void load_extensions(const uint8_t* p, Ext extensions, Headers& headers) {
  if (has(extensions, Ext::kXrceth)) {
    headers.xrc_srq = Srqn(load_be24(p + 1));
    p += 4;
  }
  if (has(extensions, Ext::kDeth)) {
    headers.deth = {QKey(load_be32(p)), Qpn(load_be24(p + 5))};
    p += 8;
  }
  if (has(extensions, Ext::kFeth)) {
    headers.feth = load_feth(p);
    p += 4;
  }
  if (has(extensions, Ext::kReth)) {
    load_reth(p, headers.reth);
    p += 16;
  }
  if (has(extensions, Ext::kAtomicEth)) {
    load_atomic(p, headers.atomic);
    p += 28;
  }
  if (has(extensions, Ext::kAeth)) {
    headers.aeth = {p[0], Msn(load_be24(p + 1))};
    p += 4;
  }
  if (has(extensions, Ext::kAtomicAckEth)) {
    headers.atomic_original = load_be64(p);
    p += 8;
  }
  if (has(extensions, Ext::kImmDt)) {
    std::memcpy(&headers.immediate_be, p, 4);
    p += 4;
  }
  if (has(extensions, Ext::kIeth)) headers.invalidate = RKey(load_be32(p));
}

void store_extensions(uint8_t* p, Ext extensions, const Headers& headers) {
  if (has(extensions, Ext::kXrceth)) {
    store_be32(p, headers.xrc_srq.value() & 0xffffff);
    p += 4;
  }
  if (has(extensions, Ext::kDeth)) {
    store_be32(p, headers.deth.qkey.value());
    store_be32(p + 4, headers.deth.source_qp.value() & 0xffffff);
    p += 8;
  }
  if (has(extensions, Ext::kFeth)) {
    store_feth(p, headers.feth);
    p += 4;
  }
  if (has(extensions, Ext::kReth)) {
    store_reth(p, headers.reth);
    p += 16;
  }
  if (has(extensions, Ext::kAtomicEth)) {
    store_atomic(p, headers.atomic);
    p += 28;
  }
  if (has(extensions, Ext::kAeth)) {
    p[0] = headers.aeth.syndrome;
    store_be24(p + 1, headers.aeth.msn.value());
    p += 4;
  }
  if (has(extensions, Ext::kAtomicAckEth)) {
    store_be64(p, headers.atomic_original);
    p += 8;
  }
  if (has(extensions, Ext::kImmDt)) {
    std::memcpy(p, &headers.immediate_be, 4);
    p += 4;
  }
  if (has(extensions, Ext::kIeth)) store_be32(p, headers.invalidate.value());
}

}  // namespace

std::optional<DropReason> parse(const RxPacket& packet, PacketView& view) {
  const std::span<const uint8_t> bytes = packet.bytes;
  if (bytes.size() < kBthBytes + kIcrcBytes) return DropReason::kTruncated;
  if (bytes.size() > kMaxPacket) return DropReason::kPayloadSize;
  // Checked first, so that a corrupted packet counts as corrupted, whatever its bytes say.
  if (!check_icrc(packet, view.ipv4_identification)) return DropReason::kBadIcrc;
  const auto head = copy_bth(bytes.data());
  if ((head[1] & 0x0f) != 0) return DropReason::kTransportVersion;

  const OpcodeInfo& info = opcode_info(Opcode(head[0]));
  if (info.name.empty()) {
    view.headers.bth = load_bth(head.data());
    return DropReason::kUnknownOpcode;
  }
  if (bytes.size() < info.header_bytes + kIcrcBytes) return DropReason::kTruncated;

  const size_t padded = bytes.size() - info.header_bytes - kIcrcBytes;
  const size_t pad = (head[1] >> 4) & 3U;
  if (padded % 4 != 0 || pad > padded) return DropReason::kBadPadding;
  if (padded != 0 && !info.has_payload) return DropReason::kUnexpectedPayload;
  if (padded - pad > kMaxPayload) return DropReason::kPayloadSize;

  view.headers.bth = load_bth(head.data());
  load_extensions(bytes.data() + kBthBytes, info.extensions, view.headers);
  read_once();
  view.payload = bytes.subspan(info.header_bytes, padded - pad);
  return std::nullopt;
}

Expected<PacketView, DropReason> parse(const RxPacket& packet) {
  PacketView view;
  if (const auto dropped = parse(packet, view)) return Unexpected<DropReason>(*dropped);
  return view;
}

size_t packet_size(Opcode opcode, size_t payload_bytes) {
  return opcode_info(opcode).header_bytes + payload_bytes + pad_count(payload_bytes) + kIcrcBytes;
}

size_t write_headers(uint8_t* out, const Headers& headers, size_t payload_bytes) {
  const OpcodeInfo& info = opcode_info(headers.bth.opcode);
  store_bth(out, headers.bth, pad_count(payload_bytes));
  store_extensions(out + kBthBytes, info.extensions, headers);
  return info.header_bytes;
}

std::string_view drop_reason_name(DropReason reason) {
  constexpr std::array<std::string_view, static_cast<size_t>(DropReason::kCount)> kNames = {
      "truncated",          "transport_version", "unknown_opcode", "bad_padding",
      "unexpected_payload", "payload_size",      "bad_icrc",       "unknown_qp",
      "bad_pkey",           "bad_qkey",          "wrong_service",  "wrong_peer",
      "qp_state",           "no_such_gid",       "unexpected_psn", "out_of_sequence",
      "malformed_response", "malformed_request", "no_receive",     "not_owner"};
  const auto index = static_cast<size_t>(reason);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace urxe
