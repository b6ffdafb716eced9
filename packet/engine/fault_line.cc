// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault_line.h"

#include <utility>

#include "packet/base/mix_bits.h"

namespace urxe {

/// splitmix64: the same on every machine, which the standard library's distributions are not.
uint64_t FaultLine::random() {
  return mix_bits(state_ += kGoldenRatio);
}

bool FaultLine::happens(uint32_t per_million) {
  return per_million != 0 && random() % 1000000 < per_million;
}

uint64_t FaultLine::draw_bit(size_t size) {
  // resv8a of the BTH: the ICRC is computed with ones there, so nobody would notice a flip.
  constexpr size_t kMaskedByte = 4;
  const bool has_masked = size > kMaskedByte;
  const uint64_t bit = random() % (uint64_t{8} * (has_masked ? size - 1 : size));
  return has_masked && bit / 8 >= kMaskedByte ? bit + 8 : bit;
}

FaultLine::Fate FaultLine::draw(size_t size) {
  Fate fate;
  fate.lost = happens(rates_.loss);
  if (fate.lost) return fate;
  fate.duplicated = happens(rates_.duplication);
  if (happens(rates_.corruption) && size > 0) fate.flipped_bit = draw_bit(size);
  if (happens(rates_.reordering))
    fate.held_back = 1 + static_cast<uint32_t>(random() % kMaxHeldBack);
  return fate;
}

void FaultLine::pass(Packet packet, const Fate& fate, std::deque<Packet>& out) {
  if (fate.lost) {
    ++counters_.lost;
    return;
  }
  if (fate.duplicated) {
    ++counters_.duplicated;
    out.push_back(packet);
  }
  if (fate.flipped_bit) {
    ++counters_.corrupted;
    uint8_t& byte = packet.bytes[*fate.flipped_bit / 8];
    byte = static_cast<uint8_t>(byte ^ (1U << (*fate.flipped_bit % 8)));
  }
  if (fate.held_back > 0) {
    ++counters_.reordered;
    held_.push_back({std::move(packet), fate.held_back});
    return;
  }
  ++counters_.passed;
  out.push_back(std::move(packet));
  let_overtake(out);
}

void FaultLine::let_overtake(std::deque<Packet>& out) {
  for (Held& held : held_) {
    if (--held.passes_left == 0) out.push_back(std::move(held.packet));
  }
  std::erase_if(held_, [](const Held& held) { return held.passes_left == 0; });
}

void FaultLine::flush(std::deque<Packet>& out) {
  for (Held& held : held_) out.push_back(std::move(held.packet));
  held_.clear();
}

}  // namespace urxe
