// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/held_packets.h"

#include <algorithm>
#include <array>

namespace urxe::analyze {
namespace {

constexpr std::array<uint8_t, 4096> kZeros{};

}  // namespace

HeldPacket::HeldPacket(const CapturedPacket& packet)
    : packet_(packet), payload_(std::min(packet.view.payload.size(), kZeros.size())) {
  packet_.view.payload = {};
}

HeldPacket::HeldPacket(const CorruptedPacket& packet) : corrupted_(packet) {
  packet_.frame = packet.frame;
}

CapturedPacket HeldPacket::restore() const {
  CapturedPacket packet = packet_;
  packet.view.payload = std::span(kZeros).first(payload_);
  return packet;
}

bool HeldPacket::is_response() const {
  if (corrupted_ || packet_.view.headers.bth.opcode == kGapQueryOpcode) return false;
  return !opcode_info(packet_.view.headers.bth.opcode).is_request;
}

bool HeldPackets::add(const HeldPacket& packet, bool has_room) {
  if (packet.is_response()) newest_response_ = packet;
  if (!has_room || packets_.size() >= kMost) {
    complete_ = false;
    return false;
  }
  packets_.push_back(packet);
  return true;
}

void HeldPackets::clear() {
  packets_ = {};
  newest_response_.reset();
}

std::vector<HeldPackets::Item> merge(const HeldPackets& first, const HeldPackets& second) {
  std::vector<HeldPackets::Item> items;
  for (const HeldPacket& packet : first.packets()) items.push_back({&packet, true});
  const auto middle = static_cast<ptrdiff_t>(items.size());
  for (const HeldPacket& packet : second.packets()) items.push_back({&packet, false});
  std::inplace_merge(
      items.begin(), items.begin() + middle, items.end(),
      [](const auto& a, const auto& b) { return a.packet->frame() < b.packet->frame(); });
  return items;
}

}  // namespace urxe::analyze
