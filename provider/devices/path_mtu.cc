// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/path_mtu.h"

namespace urxe {
namespace {

/// IP, UDP and the longest RoCE headers with ICRC, rounded up.
constexpr uint32_t kHeaderRoom = 80;

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
