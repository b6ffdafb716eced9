// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/socket_address.h"
#include "packet/sharing/calibration/program_pace.h"
#include "packet/sharing/calibration/reuseport_program.h"
#include "packet/sharing/forwarding/forwarding.h"
#include "packet/sharing/sharing_counters.h"

namespace urxe {

/// Finds out the order of the sockets that share (address, 4791), and makes the kernel select among
/// them by it. All sockets bound there with SO_REUSEPORT form a group, in which each has an index;
/// the kernel changes the indices when a member leaves, and tells nobody. So a process asks: the
/// kernel gives probe number i to the member with index i, and that process answers with its slot.
/// An index beyond the last goes to some member by hash, so the search ends when slots repeat.
///
/// The program is the group's, not the process's, and costs the whole host something: so the
/// processes take turns in searching, and one that waits for its turn is content with what another
/// has found meanwhile (ProgramPace).
///
/// Delivery does not depend on the result: a packet that reaches the wrong process is forwarded.
/// It only makes delivery fast.
class PortCalibration {
 public:
  enum class Reason : uint8_t {
    kJoined,  ///< this process's socket is new in the group
    kAstray,  ///< a packet reached the wrong process
    kLeaves,  ///< this process's socket leaves the group
  };

  /// `fd`: this process's socket of the group, bound to `address`.
  PortCalibration(int fd, const SocketAddress& address, uint32_t own_slot, const ProgramPace& pace);

  /// Asks for a search. It begins when it is this process's turn, perhaps at once. Packets that go
  /// astray soon after a search lead to no other one; the time doubles up to kMaxPause while
  /// searches, this process's and others', find nothing new: a stranger can send packets that the
  /// program cannot tell apart, as many as it likes. A process that leaves searches only if the
  /// order has changed since the last search: then packets for others may come to its socket, where
  /// they would be lost.
  void want(Reason reason, Instant now);
  /// Takes an answer to a probe. Ignores those that are late, or to another process.
  void take(const ProbeAnswer& answer, Instant now);
  /// Call it about every millisecond while is_busy().
  void tick(Instant now);
  /// The socket is about to be closed: ends the search.
  void stop(Instant now);

  /// Whether it waits for its turn or for answers.
  [[nodiscard]] bool is_busy() const { return state_ != State::kIdle; }
  /// Whether it waits for answers.
  [[nodiscard]] bool is_searching() const { return state_ == State::kSearching; }
  [[nodiscard]] const CalibrationCounters& counters() const { return counters_; }

 private:
  static constexpr uint32_t kBurst = 8;
  static constexpr Duration kMinPause = milliseconds(10);
  static constexpr Duration kMaxPause = seconds(1);
  enum class State : uint8_t { kIdle, kWaiting, kSearching };

  void try_turn(Instant now);
  void restart(Instant now);
  void send_burst(Instant now);
  void end_burst(Instant now);
  void finish(Instant now);
  void conclude(const std::vector<GroupMember>& members, Instant now);
  void rest(Instant now);
  void attach(const std::vector<GroupMember>& members);
  [[nodiscard]] bool kernel_knows(const std::vector<GroupMember>& members);
  [[nodiscard]] bool burst_answered() const;
  [[nodiscard]] bool group_goes_on() const;
  [[nodiscard]] std::vector<GroupMember> found() const;

  int fd_;
  SocketAddress address_;
  uint32_t own_slot_;
  ProgramPace pace_;
  CalibrationCounters counters_;
  State state_ = State::kIdle;
  Instant wanted_at_{};
  Instant not_before_{};  ///< no search for packets that went astray
  Duration pause_ = kMinPause;

  // The search.
  bool prepared_ = false;  ///< it has attached a program that knows probes
  uint64_t token_ = 0;
  uint32_t first_ = 0;            ///< index of the burst under way
  Instant deadline_{};            ///< of the burst
  Instant search_end_{};          ///< of the whole
  std::vector<int32_t> slot_at_;  ///< by index: the slot that answered, or -1

  uint64_t known_result_ = 0;  ///< of the last search that this process has heard of
  uint32_t left_alone_ = 0;    ///< searches in a row that attached nothing
  uint32_t leave_alone_;       ///< the next one after so many attaches its result
};

}  // namespace urxe
