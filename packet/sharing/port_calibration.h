// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/socket_address.h"
#include "packet/sharing/forwarding.h"
#include "packet/sharing/reuseport_program.h"

namespace urxe {

/// Finds out which index every process's socket has in the group that shares (address, 4791), and
/// has the kernel select by it. The order of a group changes when a member leaves, and nobody is
/// told: so one asks. Probe 0, 1, 2, ... goes to the member with that index, which answers with its
/// slot. An index out of range goes to some member by hash, so the group ends where slots repeat.
///
/// Nothing relies on the outcome being right: a packet that reaches the wrong process is forwarded.
class PortCalibration {
 public:
  /// `fd`: this process's socket of the group, bound to `address`.
  PortCalibration(int fd, const SocketAddress& address, uint32_t own_slot);

  void start(Instant now);
  /// An answer to anybody's probe. Answers that come late still count.
  void take(const ProbeAnswer& answer, Instant now);
  /// To be called now and then while running().
  void tick(Instant now);
  /// Ends the search with what it has found so far.
  void conclude();
  /// Waiting for answers.
  [[nodiscard]] bool running() const { return running_; }
  /// The last search has found another order than the one before.
  [[nodiscard]] bool found_news() const { return found_news_; }
  /// The members as last found, by index.
  [[nodiscard]] const std::vector<GroupMember>& members() const { return members_; }

 private:
  static constexpr uint32_t kBurst = 8;

  void restart(Instant now);
  void send_burst(Instant now);
  void end_burst(Instant now);
  void finish(Instant now);
  [[nodiscard]] bool burst_answered() const;
  [[nodiscard]] bool group_goes_on() const;
  [[nodiscard]] std::vector<GroupMember> found() const;

  int fd_;
  SocketAddress address_;
  uint32_t own_slot_;
  bool running_ = false;
  bool prepared_ = false;  ///< a program that knows probes is attached for certain
  uint64_t token_ = 0;
  uint32_t first_ = 0;  ///< index of the burst under way
  Instant deadline_;
  std::vector<int32_t> slot_at_;  ///< by index: who has answered, or -1
  std::vector<GroupMember> members_;
  bool found_news_ = false;
};

}  // namespace urxe
