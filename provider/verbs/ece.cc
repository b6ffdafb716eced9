// SPDX-License-Identifier: BSD-2-Clause
// Enhanced connection establishment: what two devices of one vendor agree on beyond the standard.
// urxe has no such options; peers of another vendor learn that they have nothing in common.
#include <cerrno>

#include "provider/devices/identity.h"
#include "provider/verbs/objects.h"

namespace urxe {
namespace {

constexpr uint32_t kSupportedOptions = 0;

}  // namespace

int set_ece(ibv_qp* handle, ibv_ece* ece) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  if (ece->comp_mask != 0) return EINVAL;
  // Connection managers hand over what the peer has sent, and take this answer for "without".
  if (ece->vendor_id != kVendorId) return EOPNOTSUPP;
  const ibv_qp_state state = qp.queue_pair->state();
  if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) return EINVAL;
  ece->options &= kSupportedOptions;
  return 0;
}

int query_ece(ibv_qp* handle, ibv_ece* ece) noexcept {
  if (qp_of(handle).owner->is_forked()) return ENODEV;
  *ece = {kVendorId, kSupportedOptions, 0};
  return 0;
}

}  // namespace urxe
