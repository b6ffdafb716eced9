// SPDX-License-Identifier: BSD-2-Clause
// parse() on hostile bytes. An input is one byte of options and then a packet, BTH to ICRC.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/wire/icrc.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/text/format.h"

namespace {

constexpr uint8_t kIpv6 = 1;
constexpr uint8_t kIdentificationKnown = 2;
constexpr uint8_t kReseal = 4;  ///< make the ICRC right, else little gets past it

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property broken: %s\n", what);
  std::abort();
}

urxe::Flow flow(bool ipv6) {
  const uint8_t six[16] = {0xfd};
  const uint8_t four[4] = {10, 0, 0, 1};
  const urxe::Gid gid = ipv6 ? urxe::Gid::from_ipv6(six) : urxe::Gid::from_ipv4(four);
  return {gid, gid, 0xc001, 0, 64};
}

/// A packet made from what was understood is understood the same way.
void check_round_trip(const urxe::PacketView& view, const urxe::Flow& flow) {
  const size_t payload = view.payload.size();
  std::vector<uint8_t> bytes(urxe::packet_size(view.headers.bth.opcode, payload));
  const size_t start = urxe::write_headers(bytes.data(), view.headers, payload);
  std::copy(view.payload.begin(), view.payload.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(start));
  const size_t covered = bytes.size() - 4;
  urxe::store_le32(bytes.data() + covered, urxe::icrc(flow, 7, {bytes.data(), covered}));
  const auto again = urxe::parse({bytes, flow, uint16_t{7}});
  require(again.has_value(), "what was emitted parses");
  require(again->payload.size() == payload, "the payload keeps its size");
  require(urxe::format(*again) == urxe::format(view), "the headers keep their values");
}

void check_accepted(const urxe::RxPacket& packet, const urxe::PacketView& view) {
  const auto& info = urxe::opcode_info(view.headers.bth.opcode);
  require(!info.name.empty(), "an accepted opcode exists");
  require(view.payload.size() <= 4096, "the payload fits the largest path MTU");
  require(info.has_payload || view.payload.empty(), "payload only where there may be some");
  require(view.payload.data() == packet.bytes.data() + info.header_bytes,
          "the payload follows the headers");
  const size_t size = urxe::packet_size(view.headers.bth.opcode, view.payload.size());
  require(size == packet.bytes.size(), "headers, payload, pad and ICRC are the whole packet");
  check_round_trip(view, packet.flow);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t options = data[0];
  std::vector<uint8_t> bytes(data + 1, data + size);
  urxe::RxPacket packet{bytes, flow((options & kIpv6) != 0), std::nullopt};
  if ((options & kIdentificationKnown) != 0) packet.ipv4_identification = uint16_t{0x1234};
  if ((options & kReseal) != 0 && bytes.size() >= 4) {
    const size_t covered = bytes.size() - 4;
    urxe::store_le32(bytes.data() + covered,
                     urxe::icrc(packet.flow, 0x1234, {bytes.data(), covered}));
  }
  const auto view = urxe::parse(packet);
  if (view) {
    check_accepted(packet, *view);
  } else {
    require(view.error() <= urxe::DropReason::kBadIcrc, "the reason is one of parse()'s");
    const bool long_enough = bytes.size() >= 16;
    require((options & kReseal) == 0 || !long_enough || view.error() != urxe::DropReason::kBadIcrc,
            "a right ICRC is accepted");
  }
  return 0;
}
