// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "packet/wire/psn.h"

namespace urxe::analyze {

/// Packets with a wrong ICRC that explain why a PSN is missing. Bounded: the oldest one is
/// forgotten.
class CorruptedPackets {
 public:
  static constexpr size_t kMost = 64;

  void add(Psn psn, int64_t time_ns);
  /// One came in the place of `psn`: it has that PSN, or it came in between these times, and the
  /// PSN differs by no more bits than a CRC-32 always finds. It is taken out.
  bool take(Psn psn, int64_t from_ns, int64_t to_ns);
  /// A good copy of `psn` has come: those that came until `until_ns` explain nothing any more.
  void forget(Psn psn, int64_t until_ns = std::numeric_limits<int64_t>::max());
  [[nodiscard]] bool empty() const { return packets_.empty(); }

 private:
  struct Packet {
    Psn psn;
    int64_t time_ns = 0;
  };
  std::vector<Packet> packets_;
};

}  // namespace urxe::analyze
