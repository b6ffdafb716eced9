// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/link_services.h"

#include <utility>

namespace urxe {
namespace {

/// Between unanswered requests: short at first, because a packet waits.
constexpr Duration kFirstAsk = milliseconds(100);
constexpr Duration kAskInterval = seconds(1);
constexpr uint8_t kQuickAsks = 5;
/// How long a link address counts as confirmed, and how often a neighbour that does not confirm it
/// is asked (RFC 4861, section 10).
constexpr Duration kReachableTime = seconds(30);
constexpr uint8_t kMostChecks = 3;
/// A neighbour that nobody needed for so long is not asked for any more.
constexpr Duration kUnused = seconds(3);
constexpr Duration kAnnounceInterval = seconds(1);
constexpr uint8_t kAnnouncements = 3;
/// A report may be lost, so there are two (RFC 2236, section 8.10).
constexpr uint8_t kReports = 2;
constexpr Duration kReportInterval = seconds(1);

bool is_all_hosts(const Gid& group) {
  constexpr uint8_t kAllHosts[4] = {224, 0, 0, 1};
  return group == Gid::from_ipv4(kAllHosts) || group == all_nodes_group();
}

}  // namespace

LinkServices::LinkServices(LinkIdentity identity, const SipKey& secret)
    : identity_(std::move(identity)), neighbours_(secret) {}

void LinkServices::send(const ControlFrame& frame) {
  if (frame_count_ == kFrames) return;
  frames_[(first_frame_ + frame_count_++) % kFrames] = frame;
}

std::optional<ControlFrame> LinkServices::take_frame() {
  if (frame_count_ == 0) return std::nullopt;
  const ControlFrame& frame = frames_[first_frame_];
  first_frame_ = (first_frame_ + 1) % kFrames;
  --frame_count_;
  return frame;
}

bool LinkServices::is_own(const Gid& address) const {
  return std::ranges::find(identity_.addresses, address, &IpNetwork::address) !=
         identity_.addresses.end();
}

void LinkServices::add_address(const IpNetwork& network) {
  if (!is_own(network.address)) identity_.addresses.push_back(network);
}

void LinkServices::remove_address(const Gid& address) {
  std::erase_if(identity_.addresses, [&](const IpNetwork& own) { return own.address == address; });
}

void LinkServices::announce(Instant now) {
  if (!identity_.answers) return;
  announcements_ = kAnnouncements;
  next_announcement_ = now;
  // Switches that look into MLD pass solicitations on only if somebody is in their group.
  for (const IpNetwork& own : identity_.addresses) {
    if (!own.address.is_ipv4()) join(solicited_node_group(own.address), now);
  }
  advance(now);
}

void LinkServices::send_announcements() {
  for (const IpNetwork& own : identity_.addresses) {
    const Gid& address = own.address;
    if (address.is_ipv4()) {
      send(make_arp({true, identity_.mac, address, {}, address}, kBroadcastMac));
    } else {
      const Gid group = all_nodes_group();
      send(make_neighbour_message({false, address, group, address, identity_.mac, false},
                                  group_mac(group), identity_.mac));
    }
  }
}

void LinkServices::join(const Gid& group, Instant now) {
  const auto found = std::ranges::find(groups_, group, &Group::address);
  if (found != groups_.end() || groups_.size() == kGroups) return;
  groups_.push_back({group, kReports, now});
  advance(now);
}

void LinkServices::leave(const Gid& group) {
  if (std::erase_if(groups_, [&](const Group& own) { return own.address == group; }) == 0) return;
  if (!identity_.answers || is_all_hosts(group)) return;
  send(make_membership_leave(group, source_of_reports(group.is_ipv4()), identity_.mac));
}

void LinkServices::report(Group& group) {
  if (!identity_.answers || is_all_hosts(group.address)) return;
  send(make_membership_report(group.address, source_of_reports(group.address.is_ipv4()),
                              identity_.mac));
}

Gid LinkServices::source_of_reports(bool is_ipv4) const {
  for (const IpNetwork& own : identity_.addresses) {
    if (is_ipv4 ? own.address.is_ipv4() : own.address.is_ipv6_link_local()) return own.address;
  }
  return {};
}

/// For a question: an address in the neighbour's network if there is one, else any of its family.
Gid LinkServices::source_for(const Gid& destination) const {
  Gid any;
  for (const IpNetwork& own : identity_.addresses) {
    if (own.address.is_ipv4() != destination.is_ipv4()) continue;
    if (own.contains(destination)) return own.address;
    if (any.is_zero()) any = own.address;
  }
  return any;
}

void LinkServices::handle(std::span<const uint8_t> frame, Instant now) {
  switch (ether_type(frame)) {
    case kEtherTypeArp:
      if (const auto packet = parse_arp(frame)) handle_arp(*packet, now);
      return;
    case kEtherTypeIpv4:
      if (const auto query = parse_igmp_query(frame)) handle_query(*query, now);
      return;
    case kEtherTypeIpv6:
      if (const auto message = parse_icmpv6(frame)) handle_icmpv6(*message, now);
      return;
    default:
      return;
  }
}

void LinkServices::handle_arp(const ArpPacket& packet, Instant now) {
  if (is_own(packet.sender)) return;
  learn(packet.sender, packet.sender_mac, now);
  if (!packet.is_request || !identity_.answers || !is_own(packet.target)) return;
  send(make_arp({false, identity_.mac, packet.target, packet.sender_mac, packet.sender},
                packet.sender_mac));
}

void LinkServices::handle_icmpv6(const Icmpv6Message& message, Instant now) {
  if (const auto query = parse_mld_query(message)) return handle_query(*query, now);
  const auto neighbour = parse_neighbour_message(message);
  if (!neighbour || is_own(neighbour->source)) return;
  const Gid& learnt = neighbour->is_solicitation ? neighbour->source : neighbour->target;
  if (neighbour->link_address && !is_own(learnt) &&
      (neighbour->overrides || !has_other(learnt, *neighbour->link_address))) {
    learn(learnt, *neighbour->link_address, now);
  }
  if (neighbour->is_solicitation && identity_.answers && is_own(neighbour->target)) {
    handle_solicitation(*neighbour);
  }
}

void LinkServices::handle_solicitation(const NeighbourMessage& message) {
  NeighbourMessage answer{false,          message.target, message.source,
                          message.target, identity_.mac,  true};
  if (message.source.is_zero()) {
    answer.destination = all_nodes_group();
    answer.solicited = false;
    return send(make_neighbour_message(answer, group_mac(answer.destination), identity_.mac));
  }
  // Without its link address in the message, the asking host must be known, or is not answered.
  MacAddress to{};
  if (message.link_address) {
    to = *message.link_address;
  } else {
    const Neighbour* const known = neighbours_.find(message.source);
    if (known == nullptr || !known->has_mac()) return;
    to = known->mac;
  }
  send(make_neighbour_message(answer, to, identity_.mac));
}

void LinkServices::handle_query(const MembershipQuery& query, Instant now) {
  for (Group& group : groups_) {
    if (group.address.is_ipv4() != query.is_ipv4) continue;
    if (!query.group.is_zero() && query.group != group.address) continue;
    // By advance(), a few at a time; a flood of queries makes no flood of reports.
    if (group.reports != 0) continue;
    group.reports = 1;
    group.next = now;
  }
}

bool LinkServices::has_other(const Gid& address, const MacAddress& mac) {
  const Neighbour* const neighbour = neighbours_.find(address);
  return neighbour != nullptr && neighbour->has_mac() && neighbour->mac != mac;
}

void LinkServices::learn(const Gid& address, const MacAddress& mac, Instant now) {
  Neighbour* const neighbour = neighbours_.find(address);
  if (neighbour == nullptr) return;
  if (!neighbour->has_mac()) ++resolutions_;
  neighbour->mac = mac;
  neighbour->state = Neighbour::State::kKnown;
  neighbour->asked = 0;
  neighbour->next = now + kReachableTime;
}

std::optional<Gid> LinkServices::hop_to(const Gid& destination) const {
  if (destination.is_ipv6_link_local()) return destination;
  for (const IpNetwork& own : identity_.addresses) {
    if (own.address.is_ipv4() == destination.is_ipv4() && own.contains(destination)) {
      return destination;
    }
  }
  for (const Gid& gateway : identity_.gateways) {
    if (gateway.is_ipv4() == destination.is_ipv4()) return gateway;
  }
  return std::nullopt;
}

NextHop LinkServices::resolve(const Gid& destination, Instant now) {
  const auto hop = hop_to(destination);
  if (!hop) return {};
  Neighbour& neighbour = neighbours_.find_or_add(*hop);
  neighbour.used = now;
  if (neighbour.state == Neighbour::State::kKnown && now >= neighbour.next) {
    neighbour.state = Neighbour::State::kChecking;
    ask(neighbour, now);
  } else if (neighbour.state == Neighbour::State::kFree) {
    neighbour.state = Neighbour::State::kAsking;
    ask(neighbour, now);
  }
  if (!neighbour.has_mac()) return {NextHop::Kind::kAsking, {}};
  return {NextHop::Kind::kKnown, neighbour.mac};
}

void LinkServices::ask(Neighbour& neighbour, Instant now) {
  const Gid& target = neighbour.address;
  const Gid source = source_for(target);
  const bool checks = neighbour.state == Neighbour::State::kChecking;
  const bool is_quick = !checks && neighbour.asked < kQuickAsks;
  neighbour.next = now + (is_quick ? kFirstAsk : kAskInterval);
  if (neighbour.asked < UINT8_MAX) ++neighbour.asked;
  if (target.is_ipv4()) {
    return send(make_arp({true, identity_.mac, source, {}, target},
                         checks ? neighbour.mac : kBroadcastMac));
  }
  const Gid group = solicited_node_group(target);
  send(make_neighbour_message({true, source, checks ? target : group, target, identity_.mac, false},
                              checks ? neighbour.mac : group_mac(group), identity_.mac));
}

void LinkServices::advance_neighbour(Neighbour& neighbour, Instant now) {
  const bool waits = neighbour.state == Neighbour::State::kAsking ||
                     neighbour.state == Neighbour::State::kChecking;
  if (!waits || now < neighbour.next) return;
  if (now - neighbour.used > kUnused) {
    neighbour.state = Neighbour::State::kFree;
    return;
  }
  if (neighbour.state == Neighbour::State::kChecking && neighbour.asked >= kMostChecks) {
    neighbour.state = Neighbour::State::kAsking;
    neighbour.asked = 0;
  }
  ask(neighbour, now);
}

void LinkServices::advance(Instant now) {
  if (announcements_ != 0 && now >= next_announcement_) {
    --announcements_;
    next_announcement_ = now + kAnnounceInterval;
    send_announcements();
  }
  for (Group& group : groups_) {
    if (group.reports == 0 || now < group.next || frame_count_ == kFrames) continue;
    --group.reports;
    group.next = now + kReportInterval;
    report(group);
  }
  for (Neighbour& neighbour : neighbours_.entries()) advance_neighbour(neighbour, now);
}

}  // namespace urxe
