// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/qp_attributes.h"

#include <algorithm>
#include <bit>

#include "packet/base/bytes.h"

namespace urxe::drill {

ibv_qp_type type_of(const Statement& qp) {
  switch (static_cast<Service>(qp.subject_id)) {
    case Service::kUc:
      return IBV_QPT_UC;
    case Service::kUd:
      return IBV_QPT_UD;
    default:
      return IBV_QPT_RC;
  }
}

ibv_mtu mtu_of(uint64_t bytes) {
  const bool valid = std::has_single_bit(bytes) && bytes >= 256;
  return static_cast<ibv_mtu>(valid ? std::countr_zero(bytes) - 7 : 0);
}

ibv_qp_attr attributes(const Statement& qp, const Peer& peer, uint8_t timeout) {
  const auto byte = [&](std::string_view key, uint64_t otherwise) {
    return static_cast<uint8_t>(qp.number(key, otherwise));
  };
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = static_cast<unsigned>(qp.number("access", kAllRights));
  attr.qkey = static_cast<uint32_t>(qp.number("qkey", 0x11111111));
  attr.path_mtu = mtu_of(qp.number("mtu", 1024));
  attr.dest_qp_num = peer.qpn;
  attr.rq_psn = static_cast<uint32_t>(qp.number("rq_psn", 200));
  attr.sq_psn = static_cast<uint32_t>(qp.number("sq_psn", 100));
  attr.max_dest_rd_atomic = byte("dest_rd_atomic", 4);
  attr.max_rd_atomic = byte("rd_atomic", 4);
  attr.min_rnr_timer = byte("min_rnr_timer", 12);
  attr.timeout = byte("timeout", timeout);
  attr.retry_cnt = byte("retry", 7);
  attr.rnr_retry = byte("rnr_retry", 7);
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.hop_limit = 64;
  std::copy(peer.gid.bytes.begin(), peer.gid.bytes.end(), attr.ah_attr.grh.dgid.raw);
  attr.alt_ah_attr = attr.ah_attr;
  attr.alt_port_num = 1;
  attr.alt_timeout = attr.timeout;
  attr.path_mig_state = IBV_MIG_REARM;
  return attr;
}

int migration_mask(const Statement& qp, ibv_qp_state to) {
  if (qp.number("alternate") == 0 || to != IBV_QPS_RTS) return 0;
  return IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
}

uint32_t big_endian(uint64_t value) {
  uint8_t bytes[4];
  store_be32(bytes, static_cast<uint32_t>(value));
  return std::bit_cast<uint32_t>(bytes);
}

}  // namespace urxe::drill
