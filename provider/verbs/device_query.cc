// SPDX-License-Identifier: BSD-2-Clause
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "provider/devices/identity.h"
#include "provider/devices/link_rate.h"
#include "provider/devices/path_mtu.h"
#include "provider/runtime/device/capabilities.h"
#include "provider/runtime/memory/guarded_access.h"
#include "provider/verbs/verbs.h"
#include "transport/limits.h"
#include "transport/path/pacing.h"

namespace urxe {
namespace {

constexpr uint8_t kPhysicalLinkDown = 3;  // "Disabled"
constexpr uint8_t kPhysicalLinkUp = 5;
constexpr uint64_t kPageSizes = ~uint64_t{0} << 12;  // any, from 4 KiB on

// Of rdma-core 58 and later.
constexpr uint32_t kOdpFlush = 1U << 6;        // IBV_ODP_SUPPORT_FLUSH
constexpr uint32_t kOdpAtomicWrite = 1U << 7;  // IBV_ODP_SUPPORT_ATOMIC_WRITE

/// Bytes of ibv_port_attr that every release has. The library has zeroed its own further ones.
constexpr size_t kOldPortAttr = 52;
static_assert(sizeof(ibv_port_attr) >= kOldPortAttr);

/// What ibv_query_port_speed(3) counts.
constexpr uint32_t kSpeedUnitMbps = 100;

/// Completion timestamps are nanoseconds.
constexpr uint64_t kClockKhz = 1'000'000;

constexpr uint32_t kPacedTypes =
    1U << IBV_QPT_RC | 1U << IBV_QPT_UC | 1U << IBV_QPT_UD | 1U << IBV_QPT_XRC_SEND;

void fill_limits(ibv_device_attr& attr) {
  attr.max_mr_size = UINT64_MAX;
  attr.page_size_cap = kPageSizes;
  attr.max_qp = kMaxQps;
  attr.max_qp_wr = kMaxWorkRequests;
  attr.max_sge = kMaxSge;
  attr.max_sge_rd = kMaxSge;
  attr.max_cq = kMaxCqs;
  attr.max_cqe = kMaxCqEntries;
  attr.max_mr = kMaxRegions;
  attr.max_mw = kMaxWindows;
  attr.max_pd = kMaxPds;
  attr.max_ah = kMaxAhs;
  attr.max_mcast_grp = kMaxMulticastGroups;
  attr.max_mcast_qp_attach = kMaxMulticastAttached;
  attr.max_total_mcast_qp_attach = kMaxMulticastGroups * kMaxMulticastAttached;
  attr.max_qp_rd_atom = kMaxRdAtomic;
  attr.max_qp_init_rd_atom = kMaxRdAtomic;
  attr.max_res_rd_atom = kMaxRdAtomic * kMaxQps;
  attr.max_srq = kMaxSrqs;
  attr.max_srq_wr = kMaxSrqWorkRequests;
  attr.max_srq_sge = kMaxSge;
  attr.max_pkeys = 1;
}

/// The memory is the process's own, so every operation that takes memory can take it on demand.
void fill_odp(ibv_odp_caps& caps) {
  if (!guarded_access_works()) return;
  constexpr uint32_t kMessages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  caps.per_transport_caps.rc_odp_caps = kMessages | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
                                        IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV |
                                        kOdpFlush | kOdpAtomicWrite;
  caps.per_transport_caps.uc_odp_caps = kMessages | IBV_ODP_SUPPORT_WRITE;
  caps.per_transport_caps.ud_odp_caps = kMessages | IBV_ODP_SUPPORT_SRQ_RECV;
}

void fill_device(const DeviceDescription& device, ibv_device_attr& attr) {
  std::snprintf(attr.fw_ver, sizeof attr.fw_ver, "%s", kFirmwareVersion);
  attr.node_guid = htobe64(device.node_guid);
  attr.sys_image_guid = attr.node_guid;
  attr.vendor_id = kVendorId;
  attr.vendor_part_id = kVendorPartId;
  attr.hw_ver = kHardwareVersion;
  // The processor's atomic instructions are used, so atomicity holds for the whole host.
  attr.atomic_cap = IBV_ATOMIC_GLOB;
  attr.local_ca_ack_delay = kLocalCaAckDelay;
  attr.phys_port_cnt = 1;
  fill_limits(attr);
}

void fill_raw_packets(ibv_device_attr_ex& values) {
  values.orig_attr.max_raw_ethy_qp = kMaxQps;
  values.raw_packet_caps = IBV_RAW_PACKET_CAP_IP_CSUM;
  values.packet_pacing_caps.supported_qpts |= 1U << IBV_QPT_RAW_PACKET;
}

/// In a forked child: as it was when it was forked.
DeviceDescription describe(ibv_context* context) {
  return context_of(context).device().description();
}

void fill_port(const DeviceDescription& device, ibv_port_attr& attr) {
  attr.state = device.link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr.phys_state = device.link_up ? kPhysicalLinkUp : kPhysicalLinkDown;
  attr.max_mtu = IBV_MTU_4096;
  attr.active_mtu = path_mtu_for(device.mtu);
  attr.gid_tbl_len = kGidTableLength;
  attr.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  attr.max_msg_sz = kMaxMessage;
  attr.pkey_tbl_len = 1;
  attr.max_vl_num = 1;
  attr.active_width = device.active_width;
  attr.active_speed = device.active_speed;
  attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  attr.flags = IBV_QPF_GRH_REQUIRED;
}

/// Counts violations in packets to this process.
void fill_violations(Context& owner, ibv_port_attr& attr) {
  RuntimeDevice::Guard guard(owner.device());
  RuntimeDevice& device = owner.device();
  for (uint32_t lane = 0; lane < device.lane_count(); ++lane) {
    const auto& drops = device.lane(lane).device().counters().drops;
    attr.bad_pkey_cntr += static_cast<uint32_t>(drops[static_cast<size_t>(DropReason::kBadPKey)]);
    attr.qkey_viol_cntr += static_cast<uint32_t>(drops[static_cast<size_t>(DropReason::kBadQKey)]);
  }
}

}  // namespace

int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attr, size_t attr_size) noexcept {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (attr_size < sizeof(ibv_device_attr)) return EINVAL;
  try {
    ibv_device_attr_ex values{};
    fill_device(describe(context), values.orig_attr);
    values.packet_pacing_caps = {kMinRateKbps, kMaxRateKbps, kPacedTypes};
    const bool has_raw_packets = context_of(context).device().has_raw_packets();
    if (has_raw_packets) fill_raw_packets(values);
    values.device_cap_flags_ex = device_capabilities(has_raw_packets);
    values.orig_attr.device_cap_flags = static_cast<unsigned>(values.device_cap_flags_ex);
    values.phys_port_cnt_ex = values.orig_attr.phys_port_cnt;
    values.completion_timestamp_mask = UINT64_MAX;
    values.hca_core_clock = kClockKhz;
    values.cq_mod_caps = {UINT16_MAX, UINT16_MAX};
    values.max_dm_size = kMaxDeviceMemory;
    fill_odp(values.odp_caps);
    values.xrc_odp_caps = values.odp_caps.per_transport_caps.rc_odp_caps;
    // An application built for another release may have fewer or more members.
    std::memset(static_cast<void*>(attr), 0, attr_size);
    std::memcpy(static_cast<void*>(attr), &values, std::min(attr_size, sizeof values));
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) noexcept {
  if (port != 1) return EINVAL;
  try {
    std::memset(static_cast<void*>(attr), 0, kOldPortAttr);
    fill_port(describe(context), *attr);
    fill_violations(context_of(context), *attr);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed) noexcept {
  if (port != 1) return EINVAL;
  try {
    const DeviceDescription device = describe(context);
    const LinkRate* const rate = find_link_rate(device.active_width, device.active_speed);
    *speed = rate != nullptr ? rate->mbps / kSpeedUnitMbps : 0;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace urxe
