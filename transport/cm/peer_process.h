// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "packet/base/deadline_heap.h"
#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "transport/cm/communication.h"

namespace urxe {

/// The process that has the other ends of connections, and how it is asked whether it is still
/// there: see probe.cc.
struct PeerProcess : DeadlineHook<struct ProbeTimer> {
  /// Both addresses, the channel adapter, and the upper bits of the ids that the process gives out.
  struct Key {
    std::array<uint8_t, 16> local{};
    std::array<uint8_t, 16> peer{};
    uint64_t ca_guid = 0;
    uint32_t id_prefix = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  Key key;

  /// Connections that are established; the one that was asked last is at the end. Never empty.
  IntrusiveList<Communication, PeerProcessMembers> members;
  size_t size = 0;

  /// Of the members: may be gone as others are, and are to be asked as soon as may be.
  size_t suspects = 0;
  Instant asked_at;                ///< last
  std::optional<Instant> silence;  ///< since a question that has not been answered, or was counted
  uint32_t unanswered = 0;         ///< questions in a row
  bool slot_taken = false;         ///< the deadline is that of its turn
};

/// Keeps them as long as they have members. Bounded by the communications.
class PeerProcessTable {
 public:
  /// Adds a member to the process that its ids and flow name. The address of the result holds until
  /// its last member is taken out.
  PeerProcess& link(Communication& communication);
  /// Does nothing where it is nobody's member.
  void unlink(Communication& communication);
  [[nodiscard]] size_t size() const { return processes_.size(); }

  DeadlineHeap<PeerProcess, ProbeTimer> deadlines;

 private:
  std::map<PeerProcess::Key, PeerProcess> processes_;
};

}  // namespace urxe
