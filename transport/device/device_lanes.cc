// SPDX-License-Identifier: BSD-2-Clause
// What the lanes of a device have in common.
#include <algorithm>
#include <new>

#include "transport/device/device_impl.h"

namespace urxe {

Device::Impl::Impl(Impl& first_lane) : first(&first_lane), ca(first_lane.ca.config) {
  ca.notified.reserve(first->cqs.size());
  ca.memory.share_all(first->ca.memory);
  first->lanes.push_back(this);
}

Device::Impl::~Impl() {
  if (first != this) std::erase(first->lanes, this);
}

size_t Device::Impl::count_qps() const {
  size_t count = 0;
  for (const Impl* lane : first->lanes) count += lane->qp_count;
  return count;
}

void Device::Impl::use_cq(CompletionQueue* cq) {
  if (cq == nullptr || cq->lane == &ca || cq->is_shared()) return;
  if (cq->lane == nullptr) {
    cq->lane = &ca;
    return;
  }
  // An event that is held back comes at once: those of shared queues are not held.
  cq->lane->moderate(*cq, cq->moderation());
  cq->share();
}

bool Device::Impl::share_key(uint32_t key) {
  try {
    for (Impl* lane : lanes) {
      if (lane != this) lane->ca.memory.share(ca.memory, key);
    }
    return true;
  } catch (const std::bad_alloc&) {
    forget_key(key);
    return false;
  }
}

void Device::Impl::forget_key(uint32_t key) {
  for (Impl* lane : lanes) {
    if (lane != this) lane->ca.memory.forget(key);
  }
}

}  // namespace urxe
