// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/gsi/gsi_sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

namespace urxe {

bool GsiSharing::pass_on(const GsiOwner& owner, const PacketRun& packets, Instant now) {
  switch (owner.kind) {
    case GsiOwner::Kind::kService:
      return pass_request(ServiceId(owner.value), packets, now);
    case GsiOwner::Kind::kAgent:
      return pass_to_service(ServiceId(owner.value), packets, now) != Service::kPassedOn;
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
  const size_t count = packets.packets();
  if (unclaimed_of(packets.flow.source) + count > kMaxUnclaimedOfOne) {
    counters_.gsi_over_quota += count;
    return false;
  }
  if (unclaimed_packets_ + count > kMaxUnclaimed) return true;
  try {
    unclaimed_.push_back(
        {service,
         {packets.flow, packets.segment_size, {packets.bytes.begin(), packets.bytes.end()}},
         now,
         changes});
  } catch (const std::bad_alloc&) {
    return true;
  }
  unclaimed_packets_ += count;
  return false;
}

size_t GsiSharing::unclaimed_of(const Gid& source) const {
  const Gid network = source_network(source);
  size_t count = 0;
  for (const Unclaimed& unclaimed : unclaimed_) {
    if (source_network(unclaimed.request.flow.source) == network) {
      count += unclaimed.request.run().packets();
    }
  }
  return count;
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
  try {
    ours.reserve(unclaimed_.size());
  } catch (const std::bad_alloc&) {
    return ours;  // later, perhaps
  }
  const uint32_t changes = directory_.changes();
  std::erase_if(unclaimed_, [&](Unclaimed& unclaimed) {
    if (unclaimed.changes == changes) return false;
    unclaimed.changes = changes;
    Returned& request = unclaimed.request;
    const Service found = pass_to_service(unclaimed.service, request.run(), now);
    if (found == Service::kNobody) return false;
    unclaimed_packets_ -= request.run().packets();
    if (found == Service::kOurs) ours.push_back(std::move(request));
    return true;
  });
  while (!unclaimed_.empty() && now - unclaimed_.front().since >= kMaxUnclaimedWait) {
    unclaimed_packets_ -= unclaimed_.front().request.run().packets();
    ours.push_back(std::move(unclaimed_.front().request));
    unclaimed_.pop_front();
  }
  return ours;
}

}  // namespace urxe
