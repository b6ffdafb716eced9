// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/fabric.h"

#include <algorithm>

namespace urxe::sim {
namespace {

/// Ethernet, IPv4 and UDP headers, frame check, preamble and gap: what a packet takes on the wire
/// beside its own bytes.
constexpr size_t kBytesAround = 14 + 20 + 8 + 4 + 20;
constexpr uint8_t kEcnMask = 3;
constexpr uint8_t kCongestionExperienced = 3;

}  // namespace

Fabric::Fabric(const ClusterPlan& plan)
    : plan_(plan), random_(Random::mix(plan.seed) + 3), up_(plan.hosts), down_(plan.hosts) {}

Duration Fabric::time_for(uint64_t bytes) const {
  return nanoseconds(static_cast<int64_t>(bytes * 8 * 1'000'000'000 / plan_.bits_per_second));
}

uint64_t Fabric::waiting(const Link& link, Instant now) const {
  if (link.free_at <= now) return 0;
  const auto ns = static_cast<uint64_t>((link.free_at - now).ns);
  return ns * (plan_.bits_per_second / 1'000'000) / 8'000;
}

Instant Fabric::carry(Link& link, size_t bytes, Instant now) const {
  link.free_at = std::max(link.free_at, now) + time_for(bytes + kBytesAround);
  return link.free_at;
}

uint32_t Fabric::new_packet() {
  if (free_.empty()) {
    packets_.emplace_back();
    return static_cast<uint32_t>(packets_.size() - 1);
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  return number;
}

void Fabric::arrive(uint32_t number, Instant at, bool at_host) {
  heap_.push_back({at, order_++, number, at_host});
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

void Fabric::send(uint32_t from, uint32_t to, const Flow& flow, std::span<const uint8_t> bytes,
                  Instant now) {
  const uint32_t number = new_packet();
  CarriedPacket& packet = packets_[number];
  packet.bytes.assign(bytes.begin(), bytes.end());
  packet.flow = flow;
  packet.to = to;
  ++totals_.packets;
  arrive(number, carry(up_[from], bytes.size(), now) + plan_.delay, false);
}

uint64_t Fabric::backlog(uint32_t host, Instant now) const {
  return waiting(up_[host], now);
}

Instant Fabric::when_backlog_is(uint32_t host, uint64_t bytes) const {
  return up_[host].free_at - time_for(bytes);
}

std::optional<Instant> Fabric::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

/// False: the packet is gone.
bool Fabric::at_switch(uint32_t number, Instant now) {
  CarriedPacket& packet = packets_[number];
  Link& port = down_[packet.to];
  const uint64_t before = waiting(port, now);
  depth_.add(now, before);
  if (random_.chance(plan_.loss_per_million)) {
    ++totals_.lost;
    return false;
  }
  if (before + packet.bytes.size() > plan_.port_bytes) {
    ++totals_.dropped;
    return false;
  }
  totals_.deepest = std::max(totals_.deepest, before);
  if (before > plan_.mark_bytes && (packet.flow.traffic_class & kEcnMask) != 0) {
    packet.flow.traffic_class |= kCongestionExperienced;
    ++totals_.marked;
  }
  arrive(number, carry(port, packet.bytes.size(), now) + plan_.delay, true);
  return true;
}

std::optional<uint32_t> Fabric::step() {
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  const Arrival arrival = heap_.back();
  heap_.pop_back();
  if (arrival.at_host) return arrival.packet;
  if (!at_switch(arrival.packet, arrival.at)) done(arrival.packet);
  return std::nullopt;
}

}  // namespace urxe::sim
