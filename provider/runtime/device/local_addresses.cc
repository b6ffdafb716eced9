// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/local_addresses.h"

#include <algorithm>

namespace urxe {
namespace {

bool contains(std::span<const Gid> addresses, const Gid& address) {
  return std::ranges::find(addresses, address) != addresses.end();
}

}  // namespace

void LocalAddresses::open(const Gid& local, bool asked_for) {
  const auto found = std::ranges::find(open_, local, &Address::local);
  if (found != open_.end()) {
    found->asked_for = found->asked_for || asked_for;
    return;
  }
  // take_lost() must not allocate: it also serves the verbs that destroy objects.
  closed_.reserve(std::min(kMostClosed, closed_.size() + open_.size() + 1));
  open_.push_back({local, asked_for});
  if (std::erase(closed_, local) != 0) open_.back().asked_for = true;
}

void LocalAddresses::claim(const Gid& local) {
  const auto found = std::ranges::find(open_, local, &Address::local);
  if (found != open_.end()) ++found->ports;
}

void LocalAddresses::release(const Gid& local) {
  const auto found = std::ranges::find(open_, local, &Address::local);
  if (found != open_.end() && found->ports > 0) --found->ports;
}

Gid LocalAddresses::take_lost(std::span<const Gid> present) {
  const auto lost = std::ranges::find_if(open_, [&](const Address& address) {
    return address.ports == 0 && !contains(present, address.local);
  });
  if (lost == open_.end()) return {};
  const Address address = *lost;
  if (address.asked_for) {
    if (closed_.size() == kMostClosed) closed_.erase(closed_.begin());
    closed_.push_back(address.local);
  }
  open_.erase(lost);
  return address.local;
}

std::vector<Gid> LocalAddresses::returned(std::span<const Gid> present) const {
  std::vector<Gid> found;
  std::ranges::copy_if(closed_, std::back_inserter(found),
                       [&](const Gid& address) { return contains(present, address); });
  return found;
}

}  // namespace urxe
