// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"

namespace urxe {

ibv_pd* alloc_pd(ibv_context* context) noexcept {
  Context& owner = context_of(context);
  try {
    auto pd = std::make_unique<Pd>();
    RuntimeDevice::Guard guard(owner.device());
    auto id = owner.device().device().alloc_pd(owner.number());
    if (!id) return fail(id.error().value);
    pd->owner = &owner;
    pd->id = *id;
    pd->handle = admit(*pd);
    owner.pds.push_back(*pd);
    return pd.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_pd(Pd& pd) {
  if (pd.base == nullptr && !pd.imported) pd.owner->device().device().release_pd(pd.id);
  pd.owner->pds.remove(pd);
}

int dealloc_pd(ibv_pd* handle) noexcept {
  Pd& pd = pd_of(handle);
  const bool is_used = pd.users.load() != 0;
  if (is_used && !pd.owner->is_forked()) return EBUSY;
  if (!is_used) {  // in a forked child the users may be the parent's
    RuntimeDevice::Guard guard(pd.owner->device());
    if (pd.base == nullptr) {
      auto freed = pd.owner->device().device().dealloc_pd(pd.id);
      if (!freed) return freed.error().value;
    }
    pd.owner->pds.remove(pd);
  }
  if (pd.base != nullptr) pd.base->users.fetch_sub(1);
  if (pd.thread != nullptr) pd.thread->users.fetch_sub(1);
  pd.owner->retired.add(pd);
  return 0;
}

}  // namespace urxe
