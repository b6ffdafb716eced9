// SPDX-License-Identifier: BSD-2-Clause
// What a device tells of its objects, for observers.
#include "transport/device/device_impl.h"

namespace urxe {

void Device::Impl::take_place(QueuePair& qp) {
  if (free_places.empty()) {
    free_places.reserve(places.size() + 1);
    places.push_back(nullptr);
    free_places.push_back(static_cast<uint32_t>(places.size() - 1));
  }
  qp.place = free_places.back();
  free_places.pop_back();
  places[qp.place] = &qp;
}

void Device::Impl::free_place(QueuePair& qp) {
  places[qp.place] = nullptr;
  free_places.push_back(qp.place);
}

size_t Device::report_places() const {
  return impl_->places.size();
}

std::optional<QpReport> Device::report(size_t place) const {
  if (place >= impl_->places.size() || impl_->places[place] == nullptr) return std::nullopt;
  return report_on(impl_->ca, *impl_->places[place]);
}

uint64_t Device::object_changes() const {
  return impl_->object_changes;
}

ObjectCounts Device::object_counts() const {
  const bool tells_all = impl_->first == impl_.get();
  return {impl_->protection_domains.size(), tells_all ? impl_->ca.memory.regions().size() : 0,
          impl_->cqs.size(), impl_->ca.srqs.size()};
}

void Device::report_domains(const std::function<void(const DomainReport&)>& visit) const {
  for (const auto& [number, domain] : impl_->protection_domains) {
    visit({.number = number, .users = domain.references, .owner = domain.owner});
  }
}

void Device::report_regions(const std::function<void(const RegionReport&)>& visit) const {
  if (impl_->first != impl_.get()) return;
  impl_->ca.memory.regions().for_each([&](const MemoryRegion& region) {
    visit({region.iova, region.length, region.lkey.value(), region.pd.value()});
  });
}

void Device::report_completion_queues(
    const std::function<void(const CompletionQueueReport&)>& visit) const {
  for (const auto& [pointer, cq] : impl_->cqs) {
    visit({cq->number, cq->capacity(), cq->references, cq->owner});
  }
}

void Device::report_shared_receive_queues(
    const std::function<void(const SharedReceiveQueueReport&)>& visit) const {
  impl_->ca.srqs.for_each([&](const SharedReceiveQueue& srq) {
    visit({.number = srq.number.value(),
           .domain = srq.pd.value(),
           .completion_queue = srq.cq != nullptr ? srq.cq->number : 0});
  });
}

bool Device::has_deferred_acks() const {
  return !impl_->ca.deferred.empty();
}

bool Device::has_news() const {
  const ChannelAdapter& ca = impl_->ca;
  return !ca.notified.empty() || !ca.events.empty() || ca.gsi.has_news();
}

bool Device::awaits_answers() const {
  return impl_->ca.paths.in_flight() > 0;
}

}  // namespace urxe
