// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/time.h"
#include "packet/engine/dpdk/link/arp.h"
#include "packet/engine/dpdk/link/membership.h"
#include "packet/engine/dpdk/link/neighbour_discovery.h"
#include "packet/engine/dpdk/link/neighbour_table.h"
#include "packet/wire/ip/ip_network.h"

namespace urxe {

/// What a host is on a link.
struct LinkIdentity {
  MacAddress mac{};
  std::vector<IpNetwork> addresses;
  std::vector<Gid> gateways;
  /// False: the kernel has the addresses too, and answers for them and tells of groups. Then only
  /// questions are asked.
  bool answers = true;
};

/// Where a packet goes.
struct NextHop {
  enum class Kind : uint8_t {
    kKnown,
    kAsking,       ///< later, perhaps: resolutions() tells
    kUnreachable,  ///< on no network of ours, and there is no gateway
  };
  Kind kind = Kind::kUnreachable;
  MacAddress mac{};
};

/// What a kernel does for a host on an Ethernet link: ARP, IPv6 neighbour discovery, and the
/// membership of multicast groups by IGMP and MLD. No I/O and no clock: frames come in by handle()
/// and go out by take_frame(), and every call is told the time. Call advance() about ten times a
/// second.
///
/// What it learns from frames is only the link address of neighbours that it has asked for, so
/// others on the link cannot fill its table. They can lie, as in any Ethernet.
class LinkServices {
 public:
  /// `secret` is for the table of neighbours.
  LinkServices(LinkIdentity identity, const SipKey& secret);

  /// Tells the others on the link that the addresses are here; repeated twice by advance().
  void announce(Instant now);
  /// Another address of the host. Does nothing if it is one already.
  void add_address(const IpNetwork& network);
  /// Undoes add_address().
  void remove_address(const Gid& address);
  [[nodiscard]] bool is_own(const Gid& address) const;

  void join(const Gid& group, Instant now);
  void leave(const Gid& group);

  /// Takes a frame that is none of RoCE. Any bytes.
  void handle(std::span<const uint8_t> frame, Instant now);
  /// The first hop to a destination, which is no group. Asks for it if it is not known.
  [[nodiscard]] NextHop resolve(const Gid& destination, Instant now);
  /// Grows when a neighbour that was asked for becomes known.
  [[nodiscard]] uint64_t resolutions() const { return resolutions_; }
  void advance(Instant now);

  /// The next frame to be sent; nullopt: none. Frames that are not taken in time are lost.
  std::optional<ControlFrame> take_frame();

 private:
  static constexpr size_t kFrames = 64;
  static constexpr size_t kGroups = 1024;

  struct Group {
    Gid address;
    uint8_t reports = 0;  ///< to be sent yet
    Instant next{};
  };

  void send(const ControlFrame& frame);
  void handle_arp(const ArpPacket& packet, Instant now);
  void handle_icmpv6(const Icmpv6Message& message, Instant now);
  void handle_solicitation(const NeighbourMessage& message);
  void handle_query(const MembershipQuery& query, Instant now);
  /// Whether another link address is known, which an advertisement that does not override leaves as
  /// it is (RFC 4861, 7.2.5).
  [[nodiscard]] bool has_other(const Gid& address, const MacAddress& mac);
  void learn(const Gid& address, const MacAddress& mac, Instant now);
  void ask(Neighbour& neighbour, Instant now);
  void advance_neighbour(Neighbour& neighbour, Instant now);
  void send_announcements();
  void report(Group& group);
  [[nodiscard]] std::optional<Gid> hop_to(const Gid& destination) const;
  [[nodiscard]] Gid source_for(const Gid& destination) const;
  [[nodiscard]] Gid source_of_reports(bool is_ipv4) const;

  LinkIdentity identity_;
  NeighbourTable neighbours_;
  std::vector<Group> groups_;
  uint64_t resolutions_ = 0;
  Instant next_announcement_{};
  uint8_t announcements_ = 0;  ///< to be sent yet
  std::array<ControlFrame, kFrames> frames_;
  size_t first_frame_ = 0;
  size_t frame_count_ = 0;
};

}  // namespace urxe
