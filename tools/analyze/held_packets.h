// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "tools/analyze/captured_packet.h"

namespace urxe::analyze {

/// A packet without its payload, of which only the size is kept; or one with a wrong ICRC.
class HeldPacket {
 public:
  explicit HeldPacket(const CapturedPacket& packet);
  explicit HeldPacket(const CorruptedPacket& packet);
  /// Its payload is zeros.
  [[nodiscard]] CapturedPacket restore() const;
  [[nodiscard]] uint64_t frame() const { return packet_.frame; }
  [[nodiscard]] const std::optional<CorruptedPacket>& corrupted() const { return corrupted_; }
  [[nodiscard]] bool is_response() const;

 private:
  CapturedPacket packet_;
  std::optional<CorruptedPacket> corrupted_;
  size_t payload_ = 0;
};

/// The packets of a stream, in the order in which they came. Bounded: when there are too many, or
/// no room is left, the oldest ones and the newest response stay.
class HeldPackets {
 public:
  static constexpr size_t kMost = 1024;

  struct Item {
    const HeldPacket* packet = nullptr;
    bool of_first = true;
  };

  /// Whether the packet was kept.
  bool add(const HeldPacket& packet, bool has_room);
  void clear();
  [[nodiscard]] const std::vector<HeldPacket>& packets() const { return packets_; }
  [[nodiscard]] bool is_complete() const { return complete_; }
  [[nodiscard]] bool has_responses() const { return newest_response_.has_value(); }
  /// Only if there is one.
  [[nodiscard]] const HeldPacket& newest_response() const { return *newest_response_; }

 private:
  std::vector<HeldPacket> packets_;
  std::optional<HeldPacket> newest_response_;
  bool complete_ = true;
};

/// Those of both, in the order of frames.
std::vector<HeldPackets::Item> merge(const HeldPackets& first, const HeldPackets& second);

}  // namespace urxe::analyze
