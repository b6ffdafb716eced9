// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/corrupted_packets.h"

#include <algorithm>
#include <bit>

namespace urxe::analyze {
namespace {

constexpr int kMostFlips = 3;

int differing_bits(Psn one, Psn other) {
  return std::popcount(one.value() ^ other.value());
}

}  // namespace

void CorruptedPackets::add(Psn psn, int64_t time_ns) {
  if (packets_.size() == kMost) packets_.erase(packets_.begin());
  packets_.push_back({psn, time_ns});
}

bool CorruptedPackets::take(Psn psn, int64_t from_ns, int64_t to_ns) {
  auto found = std::find_if(packets_.begin(), packets_.end(),
                            [psn](const Packet& packet) { return packet.psn == psn; });
  if (found == packets_.end()) {
    found = std::find_if(packets_.begin(), packets_.end(), [&](const Packet& packet) {
      return packet.time_ns >= from_ns && packet.time_ns <= to_ns &&
             differing_bits(packet.psn, psn) <= kMostFlips;
    });
  }
  if (found == packets_.end()) return false;
  packets_.erase(found);
  return true;
}

void CorruptedPackets::forget(Psn psn, int64_t until_ns) {
  std::erase_if(packets_, [&](const Packet& packet) {
    return packet.psn == psn && packet.time_ns <= until_ns;
  });
}

}  // namespace urxe::analyze
