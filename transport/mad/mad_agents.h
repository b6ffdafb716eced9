// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "packet/base/expected.h"
#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/wire/cm/mad_agent.h"
#include "transport/cm/outgoing_mad.h"

namespace urxe {

/// An agent of one device; the upper half of the transaction ids of its requests.
using MadAgentId = StrongInt<struct MadAgentTag, uint32_t>;

/// A set of methods, without the response bit.
using MadMethods = std::array<uint64_t, 2>;

struct MadAgentsConfig {
  uint32_t id_prefix = 0;  ///< the upper kCommIdPrefixBits of all agents' ids
  SipKey id_secret{1, 2};  ///< makes the rest hard to guess
};

struct MadAgentInit {
  MadAgentKey key;
  MadMethods methods{};  ///< the requests that the agent gets; none: it only sends
};

/// What the program wants to know again of a request that no response has come to.
using MadNote = std::array<uint8_t, 64>;

/// How long a response is waited for.
struct MadPatience {
  Duration timeout;      ///< 0: none is due
  uint32_t retries = 0;  ///< how often the request is sent again; each waits as long
  MadNote note{};
};

/// A MAD for an agent's program.
struct MadEvent {
  Flow flow;  ///< as received: the source is the peer
  Qpn remote_qpn;
  MadBytes mad{};
  bool timed_out = false;  ///< the program's own request, to which no response has come
  MadNote note{};          ///< of that request
};

/// The management agents of one channel adapter: whom MADs of other classes than the communication
/// manager's go to, and which requests wait for a response (IBTA vol. 1, 13.5.3; the rules are
/// those of Linux's ib_mad). Protocol only, like the rest of the transport. Not thread-safe.
///
/// Nothing is answered for a program. Bounds: kMaxAgents agents; for each, kMaxWaiting requests
/// that it has not read, kMaxWaitingOfOne of one source among them, and kMaxOwn requests of its own
/// whose outcome it has not read; kMaxOutgoing MADs to send. What finds no room is dropped and
/// counted, or refused to the sender.
class MadAgents {
 public:
  static constexpr size_t kMaxAgents = 1024;
  static constexpr size_t kMaxWaiting = 256;
  static constexpr size_t kMaxWaitingOfOne = 64;
  static constexpr size_t kMaxOwn = 1024;
  static constexpr size_t kMaxOutgoing = 1024;
  using Drops = std::array<uint64_t, static_cast<size_t>(MadDropReason::kCount)>;

  /// Only while there are no agents.
  void configure(const MadAgentsConfig& config) { config_ = config; }

  /// EINVAL: another agent gets one of the methods; ENOMEM.
  Expected<MadAgentId, Errno> add(const MadAgentInit& init);
  /// Forgets the agent's requests and what it has not read.
  void remove(MadAgentId id);
  /// Sends a MAD. A request gets the agent's id as the upper half of its transaction id, and its
  /// response becomes an event. EINVAL: no such agent, or a request with the transaction id waits
  /// already; ENOMEM: no room.
  Expected<void, Errno> send(MadAgentId id, const OutgoingMad& mad, const MadPatience& patience,
                             Instant now);
  /// The agent's next event, oldest first.
  std::optional<MadEvent> take_event(MadAgentId id);
  /// Whether an event has come since the last call.
  [[nodiscard]] bool has_news() const { return has_news_; }
  [[nodiscard]] bool take_news() { return std::exchange(has_news_, false); }

  [[nodiscard]] const Drops& drops() const { return drops_; }

  // --- Driving. Device calls these.

  /// Whether receive() is to be called: there are agents, and the MAD could be for one.
  [[nodiscard]] bool wants(MadView mad) const;
  /// Handles the MAD of a datagram to QP1 whose packet has been checked.
  void receive(MadView mad, const Flow& flow, Qpn remote_qpn);
  void advance(Instant now);
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  [[nodiscard]] bool has_outgoing() const { return !outgoing_.empty(); }
  /// nullptr: none. Valid until the next call.
  const OutgoingMad* take_outgoing();

 private:
  struct Agent {
    MadAgentInit init;
    std::deque<MadEvent> events;
    size_t own = 0;  ///< requests that wait for a response, and unread outcomes
  };
  struct Request {
    OutgoingMad mad;
    MadPatience patience;
    Instant deadline;
  };
  using Requests = std::map<uint64_t, Request>;  ///< by transaction id

  [[nodiscard]] MadAgentId next_id();
  [[nodiscard]] Expected<void, Errno> send_request(MadAgentId id, Agent& agent, OutgoingMad mad,
                                                   const MadPatience& patience, Instant now);
  void receive_request(MadView mad, const Flow& flow, Qpn remote_qpn);
  void receive_response(const MadHeader& header, MadView mad, const Flow& flow, Qpn remote_qpn);
  std::optional<MadDropReason> reason_to_drop(const Agent& agent, const Flow& flow) const;
  Agent* find_agent(const MadHeader& header, MadView mad);
  void end(Requests::iterator request, MadEvent event);
  void expire(Requests::iterator request, Instant now);
  void drop(MadDropReason reason) { ++drops_[static_cast<size_t>(reason)]; }

  MadAgentsConfig config_;
  std::map<uint32_t, Agent> agents_;
  Requests requests_;
  std::set<std::pair<Instant, uint64_t>> deadlines_;
  std::deque<OutgoingMad> outgoing_;
  OutgoingMad taken_;
  uint64_t ids_given_ = 0;
  bool has_news_ = false;
  Drops drops_{};
};

}  // namespace urxe
