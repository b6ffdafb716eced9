// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/multicast.h"

#include <algorithm>
#include <cerrno>

#include "transport/device/address.h"
#include "transport/limits.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

Expected<void, Errno> MulticastTable::attach(QueuePair& qp, const Gid& group) {
  if (qp.type != IBV_QPT_UD || !group.is_multicast()) return error(EINVAL);
  auto found = groups_.find(group.bytes);
  if (found == groups_.end()) {
    if (groups_.size() >= static_cast<size_t>(kMaxMulticastGroups)) return error(ENOMEM);
    groups_.emplace(group.bytes, std::vector<QueuePair*>{&qp});
    return {};
  }
  std::vector<QueuePair*>& members = found->second;
  if (std::ranges::find(members, &qp) != members.end()) return {};
  if (members.size() >= static_cast<size_t>(kMaxMulticastAttached)) return error(ENOMEM);
  members.push_back(&qp);
  return {};
}

Expected<void, Errno> MulticastTable::detach(QueuePair& qp, const Gid& group) {
  auto found = groups_.find(group.bytes);
  if (found == groups_.end() || std::erase(found->second, &qp) == 0) return error(EINVAL);
  if (found->second.empty()) groups_.erase(found);
  return {};
}

void MulticastTable::forget(const QueuePair& qp) {
  for (auto& [group, members] : groups_) std::erase(members, &qp);
  std::erase_if(groups_, [](const auto& entry) { return entry.second.empty(); });
}

std::optional<Gid> MulticastTable::group_of(const QueuePair& qp) const {
  for (const auto& [bytes, members] : groups_) {
    if (std::ranges::find(members, &qp) != members.end()) return Gid{bytes};
  }
  return std::nullopt;
}

std::span<QueuePair* const> MulticastTable::members(const Gid& group) const {
  const auto found = groups_.find(group.bytes);
  if (found == groups_.end()) return {};
  return found->second;
}

bool is_own_unwanted(const ChannelAdapter& ca, const QueuePair& qp, const PacketView& packet,
                     const Flow& flow) {
  return qp.blocks_own_multicast && packet.headers.deth.source_qp == qp.qpn &&
         is_own_address(ca.config, flow.source);
}

}  // namespace urxe
