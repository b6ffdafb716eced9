// SPDX-License-Identifier: BSD-2-Clause
#include "transport/raw_packet/steering_table.h"

#include <algorithm>
#include <cerrno>

namespace urxe {
namespace {

/// Sniffers see all frames; the default rules get what no other rule takes.
int order_of(ibv_flow_attr_type type) {
  switch (type) {
    case IBV_FLOW_ATTR_SNIFFER:
      return 0;
    case IBV_FLOW_ATTR_NORMAL:
      return 1;
    default:
      return 2;
  }
}

bool comes_before(const FlowRule& a, const FlowRule& b) {
  if (order_of(a.type) != order_of(b.type)) return order_of(a.type) < order_of(b.type);
  return a.type == IBV_FLOW_ATTR_NORMAL && a.priority < b.priority;
}

bool is_equal(const FlowRule& a, const FlowRule& b) {
  if (a.type != b.type) return false;
  if (a.type != IBV_FLOW_ATTR_NORMAL) return true;
  return a.priority == b.priority && a.dont_trap == b.dont_trap && a.match == b.match;
}

constexpr MacAddress kWholeAddress{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

void add_interest(FrameInterest& interest, const FlowRule& rule) {
  interest.any = true;
  switch (rule.type) {
    case IBV_FLOW_ATTR_SNIFFER:
      interest.outgoing = true;
      [[fallthrough]];
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      interest.everything = interest.promiscuous = true;
      return;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      interest.groups = interest.all_groups = true;
      return;
    case IBV_FLOW_ATTR_NORMAL:
      break;
  }
  interest.matches.push_back(rule.match);
  const auto [value, mask] = rule.match.destination();
  if (mask == kWholeAddress) {
    interest.addresses.push_back(value);
  } else if (mask != MacAddress{}) {
    const bool groups_only = is_group_address(mask.data()) && is_group_address(value.data());
    (groups_only ? interest.all_groups : interest.promiscuous) = true;
  }
}

}  // namespace

Expected<FlowId, Errno> SteeringTable::add(QueuePair& qp, const FlowRule& rule) {
  if (count_ >= kMaxRules) return error(ENOMEM);
  auto place =
      std::ranges::find_if(rules_, [&](const Entry& entry) { return is_equal(entry.rule, rule); });
  if (place != rules_.end() && place->rule.drop != rule.drop) return error(EEXIST);
  found_.reserve(count_ + 1);
  if (place == rules_.end()) {
    Entry entry{rule, rule.match.names_destination(), {}};
    entry.destinations.reserve(1);
    const auto before = std::ranges::find_if(
        rules_, [&](const Entry& other) { return comes_before(rule, other.rule); });
    place = rules_.insert(before, std::move(entry));
  }
  const FlowId id(next_id_++);
  place->destinations.push_back({id, &qp});
  ++count_;
  return id;
}

template <class IsGone>
void SteeringTable::erase(IsGone is_gone) {
  for (Entry& entry : rules_) count_ -= std::erase_if(entry.destinations, is_gone);
  std::erase_if(rules_, [](const Entry& entry) { return entry.destinations.empty(); });
}

void SteeringTable::remove(FlowId id) {
  erase([id](const Destination& destination) { return destination.id == id; });
}

void SteeringTable::forget(const QueuePair& qp) {
  erase([&qp](const Destination& destination) { return destination.qp == &qp; });
}

bool SteeringTable::takes(const Entry& entry, const RxFrame& frame,
                          const FrameHeaders& headers) const {
  switch (entry.rule.type) {
    case IBV_FLOW_ATTR_SNIFFER:
      return frame.to != RxFrame::To::kLoopedBack;  // they see it as outgoing
    case IBV_FLOW_ATTR_ALL_DEFAULT:
      return true;
    case IBV_FLOW_ATTR_MC_DEFAULT:
      return is_group_address(frame.bytes.data());
    default:
      return (frame.to != RxFrame::To::kOther || entry.names_destination) &&
             entry.rule.match.matches(frame.bytes, headers);
  }
}

void SteeringTable::add_found(const Entry& entry) {
  for (const Destination& destination : entry.destinations) {
    if (std::ranges::find(found_, destination.qp) == found_.end()) {
      found_.push_back(destination.qp);
    }
  }
}

SteeringTable::Result SteeringTable::find(const RxFrame& frame, const FrameHeaders& headers,
                                          bool is_rdma) {
  const bool only_sniffers = is_rdma || frame.to == RxFrame::To::kOutgoing;
  bool is_steered = false;
  found_.clear();
  for (const Entry& entry : rules_) {
    const bool is_sniffer = entry.rule.type == IBV_FLOW_ATTR_SNIFFER;
    const bool is_default = !is_sniffer && entry.rule.type != IBV_FLOW_ATTR_NORMAL;
    if ((only_sniffers && !is_sniffer) || (is_default && is_steered)) break;
    if (!takes(entry, frame, headers)) continue;
    if (entry.rule.drop) return {found_, true};
    add_found(entry);
    // All default rules get what the others leave.
    if (is_sniffer || is_default) continue;
    is_steered = true;
    if (!entry.rule.dont_trap) break;
  }
  return {found_, false};
}

FrameInterest SteeringTable::interest() const {
  FrameInterest interest;
  for (const Entry& entry : rules_) add_interest(interest, entry.rule);
  return interest;
}

}  // namespace urxe
