// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <span>

#include "packet/engine/dpdk/link/icmpv6.h"

namespace urxe {

// Membership of multicast groups, told to switches and routers: IGMPv2 (RFC 2236) and MLDv1 (RFC
// 2710), whose messages those that know the later versions understand.

/// The group that a query asks for; zero: all groups of that family.
struct MembershipQuery {
  bool is_ipv4 = false;
  Gid group;
};

/// Takes any bytes. Nullopt: no IGMP query, or one with a wrong length or checksum.
std::optional<MembershipQuery> parse_igmp_query(std::span<const uint8_t> frame);
/// Nullopt: no MLD query.
std::optional<MembershipQuery> parse_mld_query(const Icmpv6Message& message);

/// Tells that this host is a member of the group. `source`: an address of this host of the group's
/// family; for IPv6 a link-local one, or zero.
ControlFrame make_membership_report(const Gid& group, const Gid& source, const MacAddress& from);
/// Tells that it is a member no more.
ControlFrame make_membership_leave(const Gid& group, const Gid& source, const MacAddress& from);

}  // namespace urxe
