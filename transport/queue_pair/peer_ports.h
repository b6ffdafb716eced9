// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

#include "packet/base/time.h"
#include "packet/wire/headers.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct ChannelAdapter;
struct QueuePair;

/// Where the address of a connection's peer is.
enum class PeerHost : uint8_t { kOther, kThis };

/// The UDP source ports that the peer of a connection sends from.
///
/// Any user of a host can open a UDP socket and send packets that seem to be RoCE. Only the port
/// tells them from the peer's, because nobody can bind a port that the peer's process holds. But
/// the specification leaves the port to the sender (annex A17.9.2): its requester and its responder
/// may use two, and NICs choose another one when their flow label changes, or spread over several.
///
/// So a port becomes known by a packet whose PSN is exactly the one that is due. Until one is
/// known, all are let in; after that:
/// - A packet from a known port is let in.
/// - From another port, it is let in if its PSN is exactly right; the port is then known, too. A
///   peer that changes its port loses nothing. But a peer on this host is a process whose requester
///   and responder keep their ports: once a request has come, no other port's requests are let in,
///   and likewise responses.
/// - Else the packet is a guess. A peer on this host is a process with a socket of its own: the
///   first wrong guess is dropped, and from then on all packets from unknown ports. A peer
///   elsewhere may be a NIC that changes its port while packets are lost, so its PSNs need only be
///   near the one due, and it takes several that are far off before unknown ports are shut out.
///   A request of RC that is near, but not due, is not executed: it is a duplicate, or draws a NAK,
///   and is not kept until the missing ones come. UC executes it.
/// - While they are shut out, one packet a second is looked at. If its PSN is exactly right its
///   port is known: a peer that changes its port later goes on when it sends again.
///
/// What is left to a stranger of another host who sends with the peer's address is some guesses at
/// a PSN of 24 bits (of UC, at one of 8,192 ranges of PSNs), and one a second, which needs months;
/// or many guesses at a port. What is left to one of this host is the time until the peer's first
/// packet.
class PeerPorts {
 public:
  enum class Role : uint8_t { kRequester = 1, kResponder = 2 };  ///< of the peer: bits
  /// How a packet's PSN compares with those that are due.
  enum class Fit : uint8_t {
    kExact,  ///< the next request, or a response to an outstanding one
    kNear,   ///< a duplicate, or with packets missing before it
    kFar,
  };

  [[nodiscard]] bool knows(uint16_t port) const;
  /// Whether a request from that port may be kept until its turn comes.
  [[nodiscard]] bool trusts(uint16_t port) const { return learned_ == 0 || knows(port); }
  /// A packet of that role has come from a known port.
  void note(Role role) { roles_ |= static_cast<uint8_t>(role); }
  /// Whether to take a packet from a port that is not known. `on_this_host`: the peer's address.
  [[nodiscard]] bool admit(uint16_t port, Role role, Fit fit, bool on_this_host, Instant now);
  /// The same for packets without a PSN. Changes nothing.
  [[nodiscard]] bool admits_unnumbered(uint16_t port, bool on_this_host) const;

 private:
  static constexpr uint32_t kMaxKnown = 4;
  static constexpr uint32_t kMaxGuesses = 16;
  static constexpr Duration kGuessInterval = seconds(1);  ///< while unknown ports are shut out

  [[nodiscard]] bool has_heard(Role role) const {
    return (roles_ & static_cast<uint8_t>(role)) != 0;
  }
  void learn(uint16_t port, Role role);

  std::array<uint16_t, kMaxKnown> known_{};
  uint32_t learned_ = 0;  ///< ports; the newest replaces the oldest
  uint8_t roles_ = 0;     ///< in which packets from known ports have come
  uint32_t guesses_ = 0;
  bool shut_ = false;     ///< too many guesses: known ports only
  Instant next_guess_{};  ///< while shut_
};

/// Whether a packet from the connected peer's address comes from one of its ports. Learns the
/// ports. A packet that asks an armed queue pair to migrate is on the alternate path, whose ports
/// are not known: it is let in.
bool comes_from_peer_port(const ChannelAdapter& ca, QueuePair& qp, const Bth& bth, const Flow& flow,
                          Instant now);

/// Whether a packet without a PSN, a congestion notification, comes from the connected peer.
bool unnumbered_comes_from_peer(const ChannelAdapter& ca, const QueuePair& qp, const Flow& flow);

}  // namespace urxe
