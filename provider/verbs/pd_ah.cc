// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <new>

#include "provider/verbs/objects.h"
#include "transport/limits.h"

namespace urxe {
namespace {

bool address_is_valid(const DeviceConfig& config, const ibv_ah_attr& attr) {
  if (attr.port_num != 1 || attr.is_global == 0) return false;  // RoCE always has a GRH
  const auto& gids = config.gids;
  return attr.grh.sgid_index < gids.size() && !gids[attr.grh.sgid_index].is_zero();
}

bool address_is_valid(Context& context, const ibv_ah_attr& attr) {
  Progress::Guard guard(context.progress());
  RuntimeDevice& device = context.device();
  if (address_is_valid(device.device().config(), attr)) return true;
  device.refresh_gids();
  return address_is_valid(device.device().config(), attr);
}

}  // namespace

ibv_pd* alloc_pd(ibv_context* context) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return errno = ENODEV, nullptr;
  try {
    auto pd = std::make_unique<Pd>();
    Progress::Guard guard(owner.progress());
    auto id = owner.device().device().alloc_pd();
    if (!id) return errno = id.error().value, nullptr;
    pd->owner = &owner;
    pd->id = *id;
    owner.pds.push_back(*pd);
    return pd.release();
  } catch (const std::bad_alloc&) {
    return errno = ENOMEM, nullptr;
  }
}

void end_pd(Pd& pd) {
  (void)pd.owner->device().device().dealloc_pd(pd.id);
  pd.owner->pds.remove(pd);
}

int dealloc_pd(ibv_pd* handle) noexcept {
  Pd& pd = pd_of(handle);
  if (!pd.owner->is_forked()) {
    if (pd.address_handles.load() != 0) return EBUSY;
    Progress::Guard guard(pd.owner->progress());
    if (auto freed = pd.owner->device().device().dealloc_pd(pd.id); !freed) {
      return freed.error().value;
    }
    pd.owner->pds.remove(pd);
  }
  delete &pd;
  return 0;
}

ibv_ah* create_ah(ibv_pd* handle, ibv_ah_attr* attr) noexcept {
  Pd& pd = pd_of(handle);
  Context& owner = *pd.owner;
  if (owner.is_forked()) return errno = ENODEV, nullptr;
  try {
    if (!address_is_valid(owner, *attr)) return errno = EINVAL, nullptr;
    auto ah = std::make_unique<Ah>();
    if (owner.device().address_handles.fetch_add(1) >= kMaxAhs) {
      owner.device().address_handles.fetch_sub(1);
      return errno = ENOMEM, nullptr;
    }
    pd.address_handles.fetch_add(1);
    ah->owner = &owner;
    ah->domain = &pd;
    return ah.release();
  } catch (const std::bad_alloc&) {
    return errno = ENOMEM, nullptr;
  }
}

int destroy_ah(ibv_ah* handle) noexcept {
  Ah& ah = ah_of(handle);
  ah.domain->address_handles.fetch_sub(1);
  ah.owner->device().address_handles.fetch_sub(1);
  delete &ah;
  return 0;
}

}  // namespace urxe
