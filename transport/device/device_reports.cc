// SPDX-License-Identifier: BSD-2-Clause
// What a device tells of its queue pairs, for observers.
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

}  // namespace urxe
