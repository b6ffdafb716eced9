// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace urxe {

// Of device_cap_flags_ex, as the kernel has them (IB_UVERBS_DEVICE_...).
inline constexpr uint64_t kFlushGlobal = uint64_t{1} << 38;
inline constexpr uint64_t kHasAtomicWrite = uint64_t{1} << 40;

/// device_cap_flags_ex of ibv_query_device_ex(3).
constexpr uint64_t device_capabilities(bool has_raw_packets) {
  constexpr unsigned kAlways = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
                               IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_MEM_WINDOW |
                               IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |
                               IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                               IBV_DEVICE_UD_AV_PORT_ENFORCE | IBV_DEVICE_PORT_ACTIVE_EVENT |
                               IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_AUTO_PATH_MIG;
  constexpr unsigned kOfRawPackets = IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_RAW_IP_CSUM;
  return kAlways | (has_raw_packets ? kOfRawPackets : 0) | kFlushGlobal | kHasAtomicWrite;
}

}  // namespace urxe
