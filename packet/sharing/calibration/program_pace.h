// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "packet/base/time.h"
#include "packet/sharing/calibration/reuseport_program.h"
#include "packet/wire/gid.h"

namespace urxe {

/// What the processes of a user tell each other about the programs that they give the kernel. Lies
/// in their SlotTable; all zero at first. Times are nanoseconds of CLOCK_MONOTONIC.
struct ProgramTable {
  struct Entry {
    std::atomic<int64_t> taken_until;   ///< a process searches, until then at the latest
    std::atomic<int64_t> search_began;  ///< of the last search that ended
    std::atomic<int64_t> changed;       ///< when the order was last known to change
    std::atomic<uint64_t> program;      ///< a hash of the address, and of what that search found
  };
  static constexpr size_t kEntries = 64;
  std::atomic<int64_t> pause_until;  ///< no process begins a search before that
  std::array<Entry, kEntries> entries;
};

/// Keeps the number of reuseport programs low. The kernel compiles each program and frees the one
/// that it replaces under locks of the whole host: hundreds a second slow down every process, and
/// can block the host. So the processes that share an address take turns. One searches for the
/// order of the sockets at a time, and the others use its result. After each program there is a
/// pause, for all addresses, in proportion to what the program cost.
///
/// The hash of an address selects its entry of the table. Addresses with the same entry wait for
/// each other.
///
/// The turn of a process that ends or is stopped passes to the next after kLongestTurn.
class ProgramPace {
 public:
  static constexpr Duration kLongestTurn = milliseconds(500);
  /// After a program that took a time t, no search begins for kPauseFactor * t.
  static constexpr int64_t kPauseFactor = 20;
  static constexpr Duration kShortestPause = milliseconds(1);
  static constexpr Duration kLongestPause = seconds(2);

  /// `table` outlives this.
  ProgramPace(ProgramTable& table, const Gid& address);

  /// Takes the turn. Returns false if another process has it, or if there is a pause.
  [[nodiscard]] bool begin(Instant now);
  /// Whether a search that began after `when` has ended, by any process, if it was the last one of
  /// the entry.
  [[nodiscard]] bool searched_since(Instant when, Instant now) const;
  /// The order of the sockets changes, or has changed: one leaves, or a packet went astray.
  void mark_change(Instant now);
  /// Whether the order has changed since the last search began.
  [[nodiscard]] bool has_changed() const;
  /// Whether the last search found `members`.
  [[nodiscard]] bool is_current(std::span<const GroupMember> members) const;
  /// A hash of what the last search found.
  [[nodiscard]] uint64_t result() const { return entry_.program; }
  /// The kernel has got a program, which took `cost`.
  void charge(Duration cost, Instant now);
  /// Ends the turn. The search since begin() has found `members`, and the kernel has a program that
  /// selects among them.
  void end(std::span<const GroupMember> members);
  /// Ends the turn without a result.
  void give_up();

 private:
  [[nodiscard]] uint64_t hash(std::span<const GroupMember> members) const;

  ProgramTable& table_;
  uint64_t address_;
  ProgramTable::Entry& entry_;
  Instant began_{};
};

}  // namespace urxe
