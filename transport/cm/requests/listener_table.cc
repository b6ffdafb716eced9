// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/requests/listener_table.h"

#include <algorithm>
#include <cerrno>
#include <new>

namespace urxe {
namespace {

constexpr uint64_t kAllBits = ~uint64_t{0};

}  // namespace

bool CmListenerTable::is_taken(const Listener& wanted) const {
  const auto overlaps = [&](uint32_t id) {
    const Listener& other = listeners_.at(id);
    const uint64_t both = wanted.mask & other.mask;
    return other.local == wanted.local && ((wanted.service ^ other.service) & both) == 0;
  };
  if (wanted.mask != kAllBits) {
    return std::any_of(listeners_.begin(), listeners_.end(),
                       [&](const auto& entry) { return overlaps(entry.first); });
  }
  const auto same = exact_.find(wanted.service);
  return (same != exact_.end() &&
          std::any_of(same->second.begin(), same->second.end(), overlaps)) ||
         std::any_of(masked_.begin(), masked_.end(), overlaps);
}

ListenerId CmListenerTable::next_id() {
  do ++last_id_;
  while (last_id_ == 0 || listeners_.contains(last_id_));
  return ListenerId(last_id_);
}

Expected<ListenerId, Errno> CmListenerTable::add(ServiceId service, uint64_t mask,
                                                 std::optional<Gid> local) {
  Listener listener{{}, service.value() & mask, mask, local};
  if (is_taken(listener)) return error(EADDRINUSE);
  if (listeners_.size() >= max_listeners_) return error(ENOMEM);
  listener.id = next_id();
  const uint32_t id = listener.id.value();
  try {
    listeners_.emplace(id, listener);
    std::vector<uint32_t>& list = mask == kAllBits ? exact_[listener.service] : masked_;
    list.push_back(id);
  } catch (const std::bad_alloc&) {
    listeners_.erase(id);
    return error(ENOMEM);
  }
  return listener.id;
}

void CmListenerTable::remove(ListenerId id) {
  const auto found = listeners_.find(id.value());
  if (found == listeners_.end()) return;
  const Listener& listener = found->second;
  if (listener.mask == kAllBits) {
    const auto list = exact_.find(listener.service);
    std::erase(list->second, id.value());
    if (list->second.empty()) exact_.erase(list);
  } else {
    std::erase(masked_, id.value());
  }
  listeners_.erase(found);
}

std::optional<ListenerId> CmListenerTable::find_on(ServiceId service,
                                                   const std::optional<Gid>& local) const {
  const auto listens = [&](uint32_t id) {
    const Listener& listener = listeners_.at(id);
    return listener.local == local && (service.value() & listener.mask) == listener.service;
  };
  const auto same = exact_.find(service.value());
  if (same != exact_.end()) {
    const auto found = std::find_if(same->second.begin(), same->second.end(), listens);
    if (found != same->second.end()) return ListenerId(*found);
  }
  const auto found = std::find_if(masked_.begin(), masked_.end(), listens);
  if (found != masked_.end()) return ListenerId(*found);
  return std::nullopt;
}

std::optional<ListenerId> CmListenerTable::find(ServiceId service, const Gid& local) const {
  const std::optional<ListenerId> specific = find_on(service, local);
  return specific ? specific : find_on(service, std::nullopt);
}

}  // namespace urxe
