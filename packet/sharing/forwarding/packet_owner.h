// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "packet/wire/qpn_layout.h"

namespace urxe {

/// Stands for the owner of a packet to QP1: gsi_owner() finds that out.
inline constexpr uint32_t kGsiOwner = kSlots;

/// The slot of the process that a packet (BTH first) is for: the upper bits of its destination
/// queue pair number. kGsiOwner if it is for QP1; `own` if it is a multicast, of which each process
/// has a copy, or too short to say.
uint32_t owner_slot(std::span<const uint8_t> packet, uint32_t own);

/// The owner of a packet to QP1, as the MAD in it tells.
struct GsiOwner {
  enum class Kind : uint8_t {
    kOwn,       ///< not a MAD: the process that received it drops it
    kEveryone,  ///< each process gets a copy
    kSlot,      ///< the process with that slot, which gave out the communication id, or
                ///< has begun the transaction
    kService,   ///< the process that listens for that service
    kAgent,     ///< the process that listens for that service, because it has the agent
  };
  Kind kind = Kind::kOwn;
  uint64_t value = 0;  ///< slot, or service id
  friend bool operator==(const GsiOwner&, const GsiOwner&) = default;
};
GsiOwner gsi_owner(std::span<const uint8_t> packet);

}  // namespace urxe
