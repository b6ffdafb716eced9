// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "packet/base/time.h"
#include "packet/engine/fault_line.h"

namespace urxe {

/// One direction of a line that is long (each packet takes `rates.delay`) and narrow (it carries
/// `rates.bits_per_second`). Packets stay in order. The caller says what time it is.
class DelayLine {
 public:
  /// A packet that finds so many in the line is lost, as at a full queue of a switch.
  static constexpr size_t kMostPackets = 16384;

  explicit DelayLine(const FaultRates& rates)
      : delay_(rates.delay), bits_per_second_(rates.bits_per_second) {}

  /// False: it does nothing to packets, and need not be asked.
  [[nodiscard]] bool holds_packets() const { return delay_.ns > 0 || bits_per_second_ > 0; }
  /// Puts a packet in. False: the line is full, and the packet lost.
  bool put(FaultLine::Packet packet, Instant now);
  /// Appends to `out` the packets that have come to the end of the line.
  void take(Instant now, std::deque<FaultLine::Packet>& out);
  /// Appends all packets, whatever the time.
  void take_all(std::deque<FaultLine::Packet>& out);
  /// When the next packet comes out; nullopt: the line is empty.
  [[nodiscard]] std::optional<Instant> next() const;
  /// When the last one does.
  [[nodiscard]] std::optional<Instant> last() const;

 private:
  struct Waiting {
    Instant due;
    FaultLine::Packet packet;
  };
  Duration delay_;
  uint64_t bits_per_second_;
  Instant free_;  ///< when the last packet has left the sender
  std::deque<Waiting> waiting_;
};

}  // namespace urxe
