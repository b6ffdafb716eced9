// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

constexpr unsigned kWindowRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED |
                                   kAccessFlushGlobal;

}  // namespace

ibv_mw* alloc_mw(ibv_pd* handle, ibv_mw_type type) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return fail(EINVAL);
  try {
    auto mw = std::make_unique<Mw>();
    RuntimeDevice::Guard guard(pd.owner->device());
    auto window = pd.owner->device().device().alloc_window(pd.id, type);
    if (!window) return fail(window.error().value);
    mw->owner = pd.owner;
    mw->domain = DomainUse(pd);
    mw->window = *window;
    mw->context = handle->context;
    mw->pd = handle;
    mw->type = type;
    mw->rkey = mw->window->rkey.value();
    mw->handle = admit(*mw, mw->rkey >> 8);
    pd.owner->mws.push_back(*mw);
    return mw.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_mw(Mw& mw) {
  mw.owner->device().device().dealloc_window(mw.window);
  mw.owner->mws.remove(mw);
}

int dealloc_mw(ibv_mw* handle) noexcept {
  Mw& mw = mw_of(handle);
  if (!mw.owner->is_forked()) {
    RuntimeDevice::Guard guard(mw.owner->device());
    end_mw(mw);
  }
  mw.domain = DomainUse();
  mw.owner->retired.add(mw);
  return 0;
}

bool bind_info_is_valid(const ibv_mw_bind_info& info) {
  // Local rights are the region's alone: naming them is harmless and usual.
  if ((info.mw_access_flags & ~(kWindowRights | IBV_ACCESS_LOCAL_WRITE)) != 0) return false;
  return info.mr != nullptr || info.length == 0;
}

BindRequest bind_request(const Mw& mw, RKey new_key, const ibv_mw_bind_info& info) {
  BindRequest request;
  request.window = RKey(mw.mark.number << 8);
  request.new_key = new_key;
  request.region = LKey(info.mr != nullptr ? info.mr->lkey : 0);
  request.va = info.addr;
  request.length = info.length;
  request.access = static_cast<int>(info.mw_access_flags & kWindowRights);
  return request;
}

}  // namespace urxe
