// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/gsi_sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace urxe {

bool GsiSharing::pass_on(const GsiOwner& owner, const PacketRun& packets, Instant now) {
  switch (owner.kind) {
    case GsiOwner::Kind::kService:
      return pass_request(ServiceId(owner.value), packets, now);
    case GsiOwner::Kind::kSlot: {
      const auto slot = static_cast<uint32_t>(owner.value);
      return slot == own_slot_ || !queue_.send(sockets_.slot_name(slot), packets, now);
    }
    case GsiOwner::Kind::kEveryone:
      pass_to_everyone(packets, now);
      return true;
    default:
      return true;
  }
}

/// A listener on the very address goes before one on all addresses.
GsiSharing::Service GsiSharing::pass_to_service(ServiceId service, const PacketRun& packets,
                                                Instant now) {
  for (const std::optional<Gid>& local : {std::optional<Gid>(packets.flow.destination), {}}) {
    if (directory_.listens(service, local)) return Service::kOurs;
    const auto other = directory_.find_other(service, local);
    if (other && queue_.send(*other, packets, now)) return Service::kPassedOn;
  }
  return Service::kNobody;
}

bool GsiSharing::pass_request(ServiceId service, const PacketRun& packets, Instant now) {
  const uint32_t changes = directory_.changes();
  const Service found = pass_to_service(service, packets, now);
  if (found != Service::kNobody) return found == Service::kOurs;
  if (unclaimed_of(packets.flow.source) >= kMaxUnclaimedOfOne) {
    counters_.gsi_over_quota += packets.packets();
    return false;
  }
  if (unclaimed_.size() >= kMaxUnclaimed) return true;
  unclaimed_.push_back(
      {service,
       {packets.flow, packets.segment_size, {packets.bytes.begin(), packets.bytes.end()}},
       now,
       changes});
  return false;
}

size_t GsiSharing::unclaimed_of(const Gid& source) const {
  return static_cast<size_t>(std::ranges::count_if(
      unclaimed_, [&](const Unclaimed& u) { return u.request.flow.source == source; }));
}

/// Such messages are rare and costly to copy: the limit keeps a flood of them cheap.
void GsiSharing::pass_to_everyone(const PacketRun& packets, Instant now) {
  if (now - second_ >= seconds(1)) {
    second_ = now;
    to_everyone_ = 0;
  }
  if (to_everyone_ >= kMaxToEveryone) {
    counters_.gsi_not_copied += packets.packets();
    return;
  }
  ++to_everyone_;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (slot != own_slot_) (void)queue_.send(sockets_.slot_name(slot), packets, now);
  }
}

std::vector<GsiSharing::Returned> GsiSharing::retry(Instant now) {
  std::vector<Returned> ours;
  if (unclaimed_.empty()) return ours;
  const uint32_t changes = directory_.changes();
  std::erase_if(unclaimed_, [&](Unclaimed& unclaimed) {
    if (unclaimed.changes == changes) return false;
    unclaimed.changes = changes;
    Returned& request = unclaimed.request;
    const Service found = pass_to_service(unclaimed.service,
                                          {request.flow, request.segment_size, request.bytes}, now);
    if (found == Service::kOurs) ours.push_back(std::move(request));
    return found != Service::kNobody;
  });
  while (!unclaimed_.empty() && now - unclaimed_.front().since >= kMaxUnclaimedWait) {
    ours.push_back(std::move(unclaimed_.front().request));
    unclaimed_.pop_front();
  }
  return ours;
}

}  // namespace urxe
