// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/socket_address.h"
#include "packet/sharing/forwarding.h"
#include "packet/sharing/reuseport_program.h"

namespace urxe {

/// Finds out the order of the sockets that share (address, 4791), and makes the kernel select among
/// them by it. All sockets bound there with SO_REUSEPORT form a group, in which each has an index;
/// the kernel changes the indices when a member leaves, and tells nobody. So a process asks: the
/// kernel gives probe number i to the member with index i, and that process answers with its slot.
/// An index beyond the last goes to some member by hash, so the search ends when slots repeat.
///
/// Delivery does not depend on the result: a packet that reaches the wrong process is forwarded.
/// It only makes delivery fast.
class PortCalibration {
 public:
  /// `fd`: this process's socket of the group, bound to `address`.
  PortCalibration(int fd, const SocketAddress& address, uint32_t own_slot);

  void start(Instant now);
  /// Takes an answer. Those to other processes' probes are ignored; late ones still count.
  void take(const ProbeAnswer& answer, Instant now);
  /// Call it about every millisecond while running().
  void tick(Instant now);
  /// Ends the search with the members found so far.
  void conclude();
  /// Whether a search waits for answers.
  [[nodiscard]] bool running() const { return running_; }
  /// Whether the last search found another order than the one before.
  [[nodiscard]] bool found_news() const { return found_news_; }
  /// The members that the last search found, by index.
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
  bool prepared_ = false;  ///< this search has attached a program that knows probes
  uint64_t token_ = 0;
  uint32_t first_ = 0;  ///< index of the burst under way
  Instant deadline_;
  std::vector<int32_t> slot_at_;  ///< by index: the slot that answered, or -1
  std::vector<GroupMember> members_;
  bool found_news_ = false;
};

}  // namespace urxe
