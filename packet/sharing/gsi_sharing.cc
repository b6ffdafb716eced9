// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/gsi_sharing.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

namespace urxe {
namespace {

// The pause between two tries grows with the number of waiting requests, which a try looks at.
constexpr Duration kRetryPause = microseconds(100);
constexpr Duration kRetryPauseEach = nanoseconds(250);

}  // namespace

bool GsiSharing::pass_on(const GsiOwner& owner, const PacketRun& packets, Instant now) {
  switch (owner.kind) {
    case GsiOwner::Kind::kService: {
      const ServiceId service(owner.value);
      const Service found = pass_to_service(service, packets, now);
      if (found == Service::kNobody) return !keep_unclaimed(service, packets, now);
      return found == Service::kOurs;
    }
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

bool GsiSharing::keep_unclaimed(ServiceId service, const PacketRun& packets, Instant now) {
  if (unclaimed_.size() >= kMaxUnclaimed) return false;
  unclaimed_.push_back(
      {service,
       {packets.flow, packets.segment_size, {packets.bytes.begin(), packets.bytes.end()}},
       now});
  return true;
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
  if (now < retry_at_) return {};
  retry_at_ = now + kRetryPause + kRetryPauseEach * static_cast<int64_t>(unclaimed_.size());
  std::vector<Returned> ours;
  std::erase_if(unclaimed_, [&](Unclaimed& unclaimed) {
    Returned& request = unclaimed.request;
    const Service found = pass_to_service(unclaimed.service,
                                          {request.flow, request.segment_size, request.bytes}, now);
    if (found == Service::kPassedOn) return true;
    if (found == Service::kNobody && now - unclaimed.since < kMaxUnclaimedWait) return false;
    ours.push_back(std::move(request));
    return true;
  });
  return ours;
}

}  // namespace urxe
