// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

namespace urxe::sim {

Network::Network(const NetworkPlan& plan, size_t hosts, Random random)
    : plan_(plan), random_(random), links_(hosts) {}

bool Network::is_lost(Link& link) {
  if (!faults_) return false;
  if (link.burst_left == 0 && random_.chance(plan_.burst_loss)) {
    link.burst_left = random_.range32(1, plan_.burst_length);
  }
  if (link.burst_left > 0) {
    --link.burst_left;
    return true;
  }
  return random_.chance(plan_.loss);
}

void Network::corrupt(Packet& packet) {
  // At most three flipped bits: a CRC-32 finds them all at these lengths. Flips that the ICRC masks
  // (FECN, BECN and the reserved bits in byte 4) are no corruption.
  const uint64_t flips = random_.range(1, 3);
  const uint64_t bits = packet.bytes.size() * 8;
  uint64_t bit = random_.below(bits);
  for (uint64_t i = 0; i < flips; ++i, bit = (bit + random_.range(1, 31)) % bits) {
    if (bit / 8 == 4) bit += 8;
    uint8_t& byte = packet.bytes[bit / 8];
    byte = static_cast<uint8_t>(byte ^ (1U << (bit % 8)));
  }
  packet.corrupted = true;
}

void Network::deliver(size_t to, Packet packet, Instant at) {
  heap_.push_back({at, order_++, to, std::move(packet)});
  std::push_heap(heap_.begin(), heap_.end(), Later{});
}

Network::Fate Network::send(size_t from, size_t to, Packet packet, Instant now) {
  Link& link = links_[from];
  const auto bytes = static_cast<int64_t>(packet.bytes.size());
  const int64_t ps = plan_.picoseconds_per_byte;
  const Instant start = std::max(now, link.free_at);
  if (plan_.queue_bytes != 0 && ps != 0) {
    const int64_t queued = (start - now).ns * 1000 / ps;
    if (queued + bytes > plan_.queue_bytes) return Fate::kQueueFull;
  }
  link.free_at = start + nanoseconds(bytes * ps / 1000);
  if (is_lost(link)) return Fate::kLost;

  Instant at = link.free_at + plan_.latency;
  Fate fate = Fate::kSent;
  if (faults_) {
    at = at + nanoseconds(
                  static_cast<int64_t>(random_.below(static_cast<uint64_t>(plan_.jitter.ns) + 1)));
    if (random_.chance(plan_.reorder)) at = at + plan_.reorder_delay;
    if (random_.chance(plan_.duplicate)) {
      const Duration later = nanoseconds(
          static_cast<int64_t>(random_.below(static_cast<uint64_t>(plan_.reorder_delay.ns) * 4)));
      deliver(to, packet, at + later);
      fate = Fate::kDuplicated;
    }
    if (random_.chance(plan_.corrupt)) {
      corrupt(packet);
      fate = Fate::kCorrupted;
    }
  }
  deliver(to, std::move(packet), at);
  return fate;
}

std::optional<Instant> Network::next_arrival() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

Network::Arrival Network::take() {
  std::pop_heap(heap_.begin(), heap_.end(), Later{});
  Arrival arrival = std::move(heap_.back());
  heap_.pop_back();
  return arrival;
}

}  // namespace urxe::sim
