// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "packet/engine/engine.h"
#include "packet/engine/fault_plan.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// One direction of a bad line. For each packet, in order: draw(), then pass().
class FaultLine {
 public:
  static constexpr uint32_t kMaxHeldBack = 8;

  struct Packet {
    std::vector<uint8_t> bytes;
    Flow flow;
    std::optional<uint16_t> identification;
  };
  /// What happens to a packet.
  struct Fate {
    bool lost = false;
    bool duplicated = false;
    std::optional<uint64_t> flipped_bit;
    uint32_t held_back = 0;  ///< until so many later packets have passed; 0: not at all
    /// Whether it only passes or is lost, so that nobody needs a copy of it.
    [[nodiscard]] bool is_simple() const { return !duplicated && !flipped_bit && held_back == 0; }
  };

  FaultLine(uint64_t seed, const FaultRates& rates) : state_(seed), rates_(rates) {}

  /// The fate of the next packet, which has `size` bytes.
  Fate draw(size_t size);
  /// Counts a packet with a simple fate, which the caller passes on or loses itself. Only while
  /// nothing is held back.
  void count(const Fate& fate) { ++(fate.lost ? counters_.lost : counters_.passed); }
  /// Takes a packet that has passed for a lost one: it did not get further.
  void count_overflow() { ++counters_.lost; }
  /// Puts `packet` in and appends to `out` the packets that come out at the other end. One copy of
  /// a duplicated packet is never corrupted.
  void pass(Packet packet, const Fate& fate, std::deque<Packet>& out);
  /// Appends all packets that are held back: no later packet is going to overtake them.
  void flush(std::deque<Packet>& out);
  [[nodiscard]] bool holds_back() const { return !held_.empty(); }
  [[nodiscard]] const FaultCounters& counters() const { return counters_; }

 private:
  struct Held {
    Packet packet;
    uint32_t passes_left;
  };
  uint64_t random();
  bool happens(uint32_t per_million);
  /// A bit of a packet that its ICRC protects.
  uint64_t draw_bit(size_t size);
  void let_overtake(std::deque<Packet>& out);

  uint64_t state_;
  FaultRates rates_;
  std::vector<Held> held_;
  FaultCounters counters_;
};

}  // namespace urxe
