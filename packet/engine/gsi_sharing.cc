// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/gsi_sharing.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <variant>

#include "packet/wire/opcode.h"

namespace urxe {
namespace {

// Of a UD SEND Only: BTH and DETH before the MAD, the ICRC after it.
constexpr size_t kMadAt = 20;
constexpr size_t kIcrcBytes = 4;

// Between two tries, which may look at all that waits: the more that is, the longer.
constexpr Duration kRetryPause = microseconds(100);
constexpr Duration kRetryPauseEach = nanoseconds(250);

uint64_t packets_in(const ForwardedPackets& packets) {
  return (packets.bytes.size() + packets.segment_size - 1) / packets.segment_size;
}

Expected<FileDescriptor, Errno> open_named(const UnixName& name) {
  FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return error(errno);
  if (bind(fd.get(), name.get(), name.size) != 0) return error(errno);
  return fd;
}

}  // namespace

GsiOwner gsi_owner(std::span<const uint8_t> packet) {
  using Kind = GsiOwner::Kind;
  const Opcode opcode(packet.empty() ? uint8_t{0} : packet[0]);
  if (opcode != Opcode(Service::kUd, Operation::kSendOnly)) return {};
  if (packet.size() < kMadAt + kMadBytes + kIcrcBytes) return {};
  const MadRoute route = route_of(packet.subspan(kMadAt, kMadBytes));
  if (const auto* service = std::get_if<ToService>(&route)) {
    return {Kind::kService, service->service_id.value()};
  }
  if (const auto* communication = std::get_if<ToCommunication>(&route)) {
    return {Kind::kSlot, communication->id.value() >> kCommIdIndexBits};
  }
  return {Kind::kEveryone};
}

UnixName service_name(uint32_t interface_index, ServiceId service,
                      const std::optional<Gid>& local) {
  char address[33] = "any";
  for (size_t i = 0; local && i < local->bytes.size(); ++i) {
    std::snprintf(address + 2 * i, 3, "%02x", local->bytes[i]);
  }
  UnixName name;
  name.address.sun_family = AF_UNIX;
  // Abstract: begins with a null byte and has no end but its length.
  const int length = std::snprintf(name.address.sun_path + 1, sizeof name.address.sun_path - 1,
                                   "urxe/%u/service/%u/%016llx/%s", geteuid(), interface_index,
                                   static_cast<unsigned long long>(service.value()), address);
  name.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1U + static_cast<unsigned>(length));
  return name;
}

GsiSharing::Key GsiSharing::key(ServiceId service, const std::optional<Gid>& local) {
  return {service, local ? local->bytes : decltype(Gid::bytes){}};
}

Expected<uint32_t, Errno> GsiSharing::listen(ServiceId service, const std::optional<Gid>& local) {
  if (listens(service, local)) return error(EADDRINUSE);
  auto fd = open_named(service_name(interface_index_, service, local));
  if (!fd) return Unexpected<Errno>(fd.error());
  auto place = std::ranges::find_if(sockets_, [](const FileDescriptor& s) { return !s; });
  if (place == sockets_.end()) place = sockets_.emplace(place);
  *place = std::move(*fd);
  const auto number = static_cast<uint32_t>(place - sockets_.begin());
  services_[key(service, local)] = number;
  return number;
}

void GsiSharing::stop_listening(ServiceId service, const std::optional<Gid>& local) {
  const auto found = services_.find(key(service, local));
  if (found == services_.end()) return;
  sockets_[found->second].reset();
  services_.erase(found);
}

int GsiSharing::socket(uint32_t number) const {
  return number < sockets_.size() ? sockets_[number].get() : -1;
}

bool GsiSharing::listens(ServiceId service, const std::optional<Gid>& local) const {
  return services_.contains(key(service, local));
}

bool GsiSharing::pass_on(const GsiOwner& owner, const ForwardedPackets& packets, Instant now) {
  switch (owner.kind) {
    case GsiOwner::Kind::kService: {
      const ServiceId service(owner.value);
      const Service found = pass_to_service(service, packets, now);
      if (found == Service::kNobody) return !keep_unclaimed(service, packets, now);
      return found == Service::kOurs;
    }
    case GsiOwner::Kind::kSlot: {
      const auto slot = static_cast<uint32_t>(owner.value);
      return slot == own_.slot || !queue_.send(slot_name(slot), packets, now);
    }
    case GsiOwner::Kind::kEveryone:
      pass_to_everyone(packets, now);
      return true;
    default:
      return true;
  }
}

/// Who listens on the very address goes first.
GsiSharing::Service GsiSharing::pass_to_service(ServiceId service, const ForwardedPackets& packets,
                                                Instant now) {
  for (const std::optional<Gid>& local : {std::optional<Gid>(packets.flow.destination), {}}) {
    if (listens(service, local)) return Service::kOurs;
    if (queue_.send(service_name(interface_index_, service, local), packets, now)) {
      return Service::kPassedOn;
    }
  }
  return Service::kNobody;
}

bool GsiSharing::keep_unclaimed(ServiceId service, const ForwardedPackets& packets, Instant now) {
  if (unclaimed_.size() >= kMaxUnclaimed) return false;
  unclaimed_.push_back(
      {service,
       {packets.flow, packets.segment_size, {packets.bytes.begin(), packets.bytes.end()}},
       now});
  return true;
}

/// Rare, and not cheap: nobody can keep us at it.
void GsiSharing::pass_to_everyone(const ForwardedPackets& packets, Instant now) {
  if (now - second_ >= seconds(1)) {
    second_ = now;
    to_everyone_ = 0;
  }
  if (to_everyone_ >= kMaxToEveryone) {
    counters_.gsi_not_copied += packets_in(packets);
    return;
  }
  ++to_everyone_;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (slot != own_.slot) (void)queue_.send(slot_name(slot), packets, now);
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
