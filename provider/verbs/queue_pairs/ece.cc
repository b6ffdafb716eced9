// SPDX-License-Identifier: BSD-2-Clause
// Enhanced connection establishment: options of a vendor that two of its devices agree on. urxe has
// none, and refuses those of other vendors.
#include <cerrno>

#include "provider/devices/identity.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

constexpr uint32_t kSupportedOptions = 0;

}  // namespace

int set_ece(ibv_qp* handle, ibv_ece* ece) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  if (ece->comp_mask != 0) return EINVAL;
  // Connection managers pass the peer's options, and go on without options after this error.
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
