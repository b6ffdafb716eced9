// SPDX-License-Identifier: BSD-2-Clause
// How a UdpEngine chooses the socket to read next, and when it takes requests that other processes
// have passed on.
#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "packet/engine/udp/udp.h"
#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

// receive() looks at all sockets once in so many calls: often if there are several addresses,
// rarely if only other processes can send something elsewhere.
constexpr unsigned kLookIntervalOne = 16;
constexpr unsigned kLookIntervalSeveral = 4;
/// Looks for earlier packets at the engine's own sockets, before a request that another process has
/// passed on is taken nevertheless.
constexpr unsigned kMostLooksForRequests = 16;

}  // namespace

/// Asks epoll which sockets are readable.
void UdpEngine::look_around() {
  const bool several = receivers_.size() > 1;
  if (ticking_ && clock_now() >= next_tick_) tick();
  const bool often = searching_ || (ticking_ && config_.sharing->is_congested());
  calls_until_look_ = often ? 0 : several ? kLookIntervalSeveral : kLookIntervalOne;
  if (!several && config_.sharing == nullptr) return;
  Readable readable = find_readable();
  if (readable.others) {
    const bool had_requests = config_.sharing->has_requests();
    take_from_others();
    // Packets that were sent before the requests may have arrived after the first look.
    if (!had_requests && config_.sharing->has_requests()) readable = find_readable();
  }
  if (readable.receiver) busy_ = *readable.receiver;
  if (config_.sharing == nullptr || !config_.sharing->has_requests()) return;
  calls_until_look_ = 0;
  if (!config_.sharing->may_take_requests()) return;
  if (readable.receiver && looks_for_requests_++ < kMostLooksForRequests) return;
  looks_for_requests_ = 0;
  config_.sharing->take_requests(packets_);
}

UdpEngine::Readable UdpEngine::find_readable() {
  std::array<epoll_event, 16> events;
  const int count = uncancelled::epoll_wait(epoll_.get(), events);
  ++counters_.rx_syscalls;
  Readable readable;
  size_t next = receivers_.size() * 2;
  for (int i = 0; i < count; ++i) {
    const uint32_t id = events[static_cast<size_t>(i)].data.u32;
    if (id == kSharingId) {
      readable.others = true;
    } else if (id < receivers_.size()) {
      // The next one after the busy one, so that each gets its turn.
      next = std::min(next, id > busy_ ? id : id + receivers_.size());
    }
  }
  if (next < receivers_.size() * 2) readable.receiver = next % receivers_.size();
  return readable;
}

}  // namespace urxe
