// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "packet/base/intrusive_list.h"
#include "packet/wire/psn.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct QueuePair;

/// Packets that are missing.
struct Gap {
  Psn from;
  uint32_t packets = 0;
};

/// The held packets of one queue pair, in the order of their PSNs.
struct HeldLine {
  static constexpr uint16_t kNone = UINT16_MAX;
  uint16_t first = kNone;
  uint16_t last = kNone;
  uint16_t count = 0;
};

/// Request packets that came behind a gap, of all queue pairs of a device. They are kept until the
/// missing packet comes, and are then executed as if they had come after it; so a lost packet does
/// not cost those behind it. The specification lets a responder drop such packets, and a requester
/// that goes back sees no difference: to it they are duplicates.
///
/// The room is bounded, per queue pair and for all. If it is used up, the queue pair whose gap is
/// oldest loses what is held for it. The memory is allocated when the first gap occurs.
class HeldRequests {
 public:
  static constexpr uint32_t kCapacity = 1024;  ///< packets
  static constexpr uint32_t kMostOfOne = 512;  ///< of one queue pair
  /// A packet further ahead of the expected one is not kept: no window is that large.
  static constexpr int32_t kFurthest = 8192;

  enum class Kept : uint8_t {
    kNow,
    kAlready,
    kLastAlready,  ///< and it is the last one held
    kNot,          ///< there is no room for it, or it is too far ahead
  };
  /// Keeps a copy of a packet that lies `ahead` PSNs behind the expected one.
  Kept keep(QueuePair& qp, const PacketView& packet, int32_t ahead);
  /// One past the PSNs of the last packet held; nullopt: none is.
  [[nodiscard]] std::optional<Psn> end(const QueuePair& qp) const;
  /// Fills `gaps` with the first gaps between `expected` and the last packet held. Returns how
  /// many.
  [[nodiscard]] uint32_t find_gaps(const QueuePair& qp, Psn expected, std::span<Gap> gaps) const;
  /// The held packet with this PSN. It is valid until forget_first(). Forgets those before it.
  [[nodiscard]] std::optional<PacketView> first_at(QueuePair& qp, Psn psn);
  void forget_first(QueuePair& qp);
  void forget_all(QueuePair& qp);
  /// Packets held now.
  [[nodiscard]] uint32_t size() const { return used_; }

 private:
  struct Slot {
    Headers headers;
    uint16_t identification = 0;
    uint16_t bytes = 0;
    uint16_t next = HeldLine::kNone;
  };
  static constexpr size_t kPayloadBytes = 4096;

  bool allocate();
  bool make_room(const QueuePair& qp);
  [[nodiscard]] uint8_t* payload(uint16_t slot) { return payloads_.get() + slot * kPayloadBytes; }
  uint16_t take_slot();
  [[nodiscard]] Psn end_of(const QueuePair& qp, uint16_t slot) const;
  void fill(uint16_t slot, const PacketView& packet);
  /// Links the slot after `previous`, or first if that is kNone.
  void link(HeldLine& line, uint16_t previous, uint16_t slot);

  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<uint8_t[]> payloads_;  ///< pages are touched once slots are used
  uint32_t used_ = 0;
  uint32_t fresh_ = 0;                                   ///< slots from this one on were never used
  uint16_t free_ = HeldLine::kNone;                      ///< those that were, and are free again
  IntrusiveList<QueuePair, struct HoldingTag> holders_;  ///< the oldest gap first
};

}  // namespace urxe
