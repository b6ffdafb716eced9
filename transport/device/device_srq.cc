// SPDX-License-Identifier: BSD-2-Clause
// The XRC domains and shared receive queues of a device (IBTA vol. 1, 10.2.9, annex A14).
#include <cerrno>

#include "transport/device/device_impl.h"
#include "transport/limits.h"
#include "transport/responder/receive_source.h"

namespace urxe {
namespace {

bool init_is_valid(const SrqInit& init) {
  return init.max_wr != 0 && init.max_wr <= kMaxSrqWorkRequests && init.max_sge <= kMaxSge &&
         (init.domain == nullptr) == (init.cq == nullptr);
}

}  // namespace

void Device::Impl::forget(const SharedReceiveQueue& srq) {
  for (const auto& qp : qps) {
    if (qp != nullptr) forget_shared_queue(*qp, srq);
  }
}

Expected<XrcDomain*, Errno> Device::alloc_domain() {
  auto domain = std::make_unique<XrcDomain>();
  XrcDomain* raw = domain.get();
  impl_->domains.emplace(raw, std::move(domain));
  return raw;
}

Expected<void, Errno> Device::dealloc_domain(XrcDomain* domain) {
  if (domain->references != 0) return error(EBUSY);
  impl_->domains.erase(domain);
  return {};
}

Expected<SharedReceiveQueue*, Errno> Device::create_srq(const SrqInit& init) {
  if (!init_is_valid(init)) return error(EINVAL);
  auto srq = impl_->ca.srqs.add(init);
  if (!srq) return srq;
  impl_->use_cq(init.cq);
  impl_->count_user(init.pd, 1);
  if (init.cq != nullptr) ++init.cq->references;
  if (init.domain != nullptr) ++init.domain->references;
  return srq;
}

Expected<void, Errno> Device::modify_srq(SharedReceiveQueue& srq, const ibv_srq_attr& attr,
                                         int mask) {
  const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
  const bool arms = (mask & IBV_SRQ_LIMIT) != 0;
  const uint32_t max_wr = resizes ? attr.max_wr : srq.max_wr();
  const uint32_t limit = arms ? attr.srq_limit : srq.limit;
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0 || max_wr == 0 ||
      max_wr > kMaxSrqWorkRequests || max_wr < srq.waiting() || max_wr < limit) {
    return error(EINVAL);
  }
  if (resizes) srq.resize(max_wr);
  srq.limit = limit;
  check_limit(impl_->ca, srq);
  return {};
}

Expected<void, Errno> Device::destroy_srq(SharedReceiveQueue* srq) {
  if (srq->references != 0) return error(EBUSY);
  if (srq->domain != nullptr) impl_->forget(*srq);
  for (Device::Impl* lane : impl_->lanes) {
    std::erase_if(lane->ca.events, [srq](const AsyncEvent& event) { return event.srq == srq; });
  }
  impl_->count_user(srq->pd, -1);
  if (srq->cq != nullptr) --srq->cq->references;
  if (srq->domain != nullptr) --srq->domain->references;
  impl_->ca.srqs.remove(srq);
  return {};
}

}  // namespace urxe
