// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/path_mtu.h"

#include "packet/wire/icrc.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr uint32_t kXrcethBytes = 4;
constexpr uint32_t kRethBytes = 16;
constexpr uint32_t kImmDtBytes = 4;
/// Those around the payload of an XRC WRITE Only with immediate data, in IPv6: 88 bytes. Linux's
/// rxe leaves 80, so that such packets do not fit an interface whose MTU is just large enough;
/// other drivers leave 96. For the usual MTUs the path MTU is the same with each of the three.
constexpr uint32_t kHeaderRoom = kIpv6HeaderBytes + kUdpHeaderBytes + kBthBytes + kXrcethBytes +
                                 kRethBytes + kImmDtBytes + kIcrcBytes;

}  // namespace

uint32_t largest_packet_of(ibv_mtu mtu) {
  return path_mtu_bytes(mtu) + kHeaderRoom;
}

ibv_mtu path_mtu_for(uint32_t interface_mtu) {
  for (int mtu = IBV_MTU_4096; mtu > IBV_MTU_256; --mtu) {
    if (largest_packet_of(static_cast<ibv_mtu>(mtu)) <= interface_mtu) {
      return static_cast<ibv_mtu>(mtu);
    }
  }
  return IBV_MTU_256;
}

}  // namespace urxe
