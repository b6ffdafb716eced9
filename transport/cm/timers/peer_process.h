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
#include "transport/cm/communications/communication.h"

namespace urxe {

/// A process that has other ends of connections, and the questions whether it still exists: see
/// probe.h.
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

  /// Its established connections; the one that the last question used is at the end. Never empty.
  IntrusiveList<Communication, PeerProcessMembers> members;
  size_t size = 0;

  /// How many members to ask at once, because another one was found gone.
  size_t suspects = 0;
  Instant asked_at;                ///< last
  std::optional<Instant> silence;  ///< start of the present wait for an answer
  uint32_t unanswered = 0;         ///< questions in a row
  bool told_quiet = false;         ///< kPeerQuiet was told, and the question comes next
  bool port_closed = false;        ///< of its host
  bool slot_taken = false;         ///< the deadline is that of its turn
};

/// The processes that have members. Bounded by the communications.
class PeerProcessTable {
 public:
  /// Adds a member to the process that its ids and flow name. The result is valid until its last
  /// member is unlinked.
  PeerProcess& link(Communication& communication);
  /// Does nothing if it is no member.
  void unlink(Communication& communication);
  [[nodiscard]] size_t size() const { return processes_.size(); }

  DeadlineHeap<PeerProcess, ProbeTimer> deadlines;

 private:
  std::map<PeerProcess::Key, PeerProcess> processes_;
};

}  // namespace urxe
