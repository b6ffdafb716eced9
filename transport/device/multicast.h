// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

/// The multicast groups that UD queue pairs of a device are attached to (IBTA vol. 1, 10.5.2).
class MulticastTable {
 public:
  /// Does nothing if it is attached already. EINVAL: not a group, or not a UD queue pair; ENOMEM:
  /// too many groups, or queue pairs in one.
  Expected<void, Errno> attach(QueuePair& qp, const Gid& group);
  /// EINVAL: it is not attached.
  Expected<void, Errno> detach(QueuePair& qp, const Gid& group);
  /// Detaches it from all its groups.
  void forget(const QueuePair& qp);

  [[nodiscard]] bool has(const Gid& group) const { return groups_.contains(group.bytes); }
  /// One of the groups that the queue pair is attached to; nullopt: none.
  [[nodiscard]] std::optional<Gid> group_of(const QueuePair& qp) const;
  [[nodiscard]] std::span<QueuePair* const> members(const Gid& group) const;

 private:
  std::map<std::array<uint8_t, 16>, std::vector<QueuePair*>> groups_;
};

/// Whether the queue pair has sent the packet itself, and does not want its own packets back
/// (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB).
bool is_own_unwanted(const ChannelAdapter& ca, const QueuePair& qp, const PacketView& packet,
                     const Flow& flow);

}  // namespace urxe
