// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/address_sharing.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <new>
#include <utility>
#include <variant>

#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

// The epoll events.
constexpr uint32_t kForwardId = 0;   ///< of forward_fd()
constexpr uint32_t kServicesId = 1;  ///< of the socket for requests
constexpr uint32_t kBeaconId = 2;
constexpr uint32_t kLaterBeaconId = 3;

// The pause between two tries grows with the number of waiting datagrams, which a try looks at.
constexpr Duration kRetryPause = microseconds(100);
constexpr Duration kRetryPauseEach = nanoseconds(250);
/// How long a closing engine keeps forwarding other processes' packets.
constexpr Duration kLastWait = milliseconds(20);

/// The packets of `run` from offset `begin` up to `end`.
PacketRun part(const PacketRun& run, size_t begin, size_t end) {
  return {run.flow, run.segment_size, run.bytes.subspan(begin, end - begin),
          run.is_start && begin == 0};
}

}  // namespace

AddressSharing::AddressSharing(const Slot& slot, uint32_t interface_index)
    : slot_(slot),
      queue_(slot.forward_fd(), counters_),
      gsi_(slot.directory(), slot.number(), interface_index, queue_, counters_),
      beacon_(slot.directory().make_beacon()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  // Without it the engine opens no address.
  if (!watch(forward_fd(), kForwardId)) epoll_.reset();
  (void)watch(beacon_.fd(), kBeaconId, EPOLLET);
}

/// `more`: EPOLLET for beacons. Any user may connect to one. If no descriptor is free the
/// connection stays in the queue, and must not keep this process awake.
bool AddressSharing::watch(int fd, uint32_t id, uint32_t more) const {
  epoll_event event{};
  event.events = EPOLLIN | more;
  event.data.u32 = id;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Expected<void, EngineError> AddressSharing::follow_user(const Gid& local) {
  if (spare_sockets_.are_needed() && spare_sockets_.has(local.is_ipv4())) return {};
  const uid_t known = later_beacon_ ? later_beacon_->user() : beacon_.user();
  if (geteuid() == known) return {};
  if (auto alone = slot_.directory().check_alone(); !alone) return alone;
  later_beacon_.emplace(slot_.directory().make_beacon());
  (void)watch(later_beacon_->fd(), kLaterBeaconId, EPOLLET);
  return {};
}

Expected<ServiceEntry, Errno> AddressSharing::prepare_listening(ServiceId service,
                                                                const std::optional<Gid>& local) {
  return gsi_.directory().prepare_listening(service, local);
}

void AddressSharing::start_listening(ServiceEntry entry) {
  gsi_.directory().start_listening(std::move(entry));
  watch_services();
}

void AddressSharing::watch_services() {
  // What fails now is tried again for the next service.
  if (!watches_services_) watches_services_ = watch(gsi_.directory().socket(), kServicesId);
}

Expected<void, Errno> AddressSharing::listen(ServiceId service, const std::optional<Gid>& local) {
  auto listening = gsi_.directory().listen(service, local);
  if (listening) watch_services();
  return listening;
}

void AddressSharing::stop_listening(ServiceId service, const std::optional<Gid>& local) {
  gsi_.directory().stop_listening(service, local);
}

bool AddressSharing::sort(const PacketRun& datagram, std::vector<RxPacket>& own) {
  const auto bytes = datagram.bytes;
  bool any_forwarded = false;
  for (size_t at = 0; at < bytes.size();) {
    const auto packet = datagram.packet_at(at);
    const uint32_t owner = owner_slot(packet, slot());
    if (owner == kGsiOwner) {
      at = take_gsi(datagram, at, own);
    } else if (owner == slot()) {
      own.push_back(datagram.received_at(at));
      at += packet.size();
    } else {
      // Packets for one process that came together go on together.
      size_t end = at + packet.size();
      while (end < bytes.size() && owner_slot(bytes.subspan(end), slot()) == owner) {
        end += datagram.packet_at(end).size();
      }
      if (forward(owner, part(datagram, at, end))) any_forwarded = true;
      at = end;
    }
  }
  return any_forwarded;
}

/// Packets to QP1 from offset `at` on, as many as have one owner. Returns where they end.
size_t AddressSharing::take_gsi(const PacketRun& datagram, size_t at, std::vector<RxPacket>& own) {
  const GsiOwner owner = gsi_owner(datagram.packet_at(at));
  size_t end = at + datagram.packet_at(at).size();
  while (end < datagram.bytes.size() && owner_slot(datagram.packet_at(end), slot()) == kGsiOwner &&
         gsi_owner(datagram.packet_at(end)) == owner) {
    end += datagram.packet_at(end).size();
  }
  const PacketRun packets = part(datagram, at, end);
  if (gsi_.pass_on(owner, packets, clock_now())) packets.append_to(own);
  return end;
}

/// False: nobody has the slot.
bool AddressSharing::forward(uint32_t slot, const PacketRun& packets) {
  if (queue_.send(slot_.directory().slot_name(slot), packets, clock_now())) return true;
  counters_.not_owner += packets.packets();
  return false;
}

void AddressSharing::answer(uint32_t to, const ProbeAnswer& answer) const {
  send_answer(forward_fd(), slot_.directory().slot_name(to), answer);
}

void AddressSharing::receive(std::vector<RxPacket>& own, std::vector<ProbeAnswer>& answers) {
  reader_.rewind();
  bool any_requests = false;
  bool any_others = has_requests();
  std::array<epoll_event, 16> events;
  const int count = uncancelled::epoll_wait(epoll_.get(), events);
  ++counters_.rx_syscalls;
  for (int i = 0; i < count; ++i) {
    const uint32_t id = events[static_cast<size_t>(i)].data.u32;
    if (id == kBeaconId) {
      beacon_.answer();
    } else if (id == kLaterBeaconId) {
      if (later_beacon_) later_beacon_->answer();
    } else {
      (id == kForwardId ? any_others : any_requests) = true;
    }
  }
  // Messages that were sent before a request are in the slot's socket when the request is read.
  const bool waited = std::exchange(requests_wait_, false);
  if (any_requests && !has_requests()) {
    requests_reader_.rewind();
    read(requests_reader_, gsi_.directory().socket(), requests_, answers);
    any_others = true;
  }
  const bool is_empty = !any_others || read(reader_, forward_fd(), own, answers);
  requests_wait_ = has_requests() && !is_empty && !waited;
}

void AddressSharing::take_requests(std::vector<RxPacket>& own) {
  own.insert(own.end(), requests_.begin(), requests_.end());
  requests_.clear();
}

void AddressSharing::receive_at_slot(std::vector<RxPacket>& own,
                                     std::vector<ProbeAnswer>& answers) {
  reader_.rewind();
  read(reader_, forward_fd(), own, answers);
}

/// True: nothing more is waiting.
bool AddressSharing::read(ForwardReader& reader, int fd, std::vector<RxPacket>& own,
                          std::vector<ProbeAnswer>& answers) {
  for (;;) {
    const auto item = reader.read(fd);
    ++counters_.rx_syscalls;
    if (const auto* packets = std::get_if<PacketRun>(&item)) {
      take_forwarded(*packets, own);
    } else if (const auto* answer = std::get_if<ProbeAnswer>(&item)) {
      answers.push_back(*answer);
    } else {
      return reader.has_room();
    }
  }
}

void AddressSharing::take_forwarded(const PacketRun& packets, std::vector<RxPacket>& own) {
  // A packet socket takes or leaves a datagram as a whole, by the owner of its first packet.
  if (direct_ && packets.is_start && owner_slot(packets.packet_at(0), slot()) == slot() &&
      direct_(packets.flow)) {
    counters_.direct += packets.packets();
    return;
  }
  for (size_t at = 0; at < packets.bytes.size(); at += packets.segment_size) {
    const uint32_t owner = owner_slot(packets.packet_at(at), slot());
    if (owner != slot() && owner != kGsiOwner) {
      ++counters_.not_owner;  // never forwarded a second time: no loops
      continue;
    }
    ++counters_.rx_forwarded;
    own.push_back(packets.received_at(at));
  }
}

void AddressSharing::retry(Instant now) {
  if (gsi_.has_waiting()) {
    for (GsiSharing::Returned& own : gsi_.retry(now)) returned_.push_back(std::move(own));
  }
  if (queue_.has_waiting()) retry_forwarding(now);
}

void AddressSharing::retry_forwarding(Instant now) {
  if (now < retry_forwarding_at_) return;
  retry_forwarding_at_ = now + kRetryPause + kRetryPauseEach * static_cast<int64_t>(queue_.size());
  queue_.retry(now);
}

void AddressSharing::take_returned(std::vector<RxPacket>& own) {
  taken_.clear();
  taken_.swap(returned_);
  for (const GsiSharing::Returned& run : taken_) {
    run.run().append_to(own);
  }
}

void AddressSharing::finish() {
  const Instant end = clock_now() + kLastWait;
  while (queue_.has_waiting() && clock_now() < end) {
    const timespec pause{0, kRetryPause.ns};
    nanosleep(&pause, nullptr);
    queue_.retry(clock_now());
  }
}

}  // namespace urxe
