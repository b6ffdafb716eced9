// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "packet/base/expected.h"
#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/roce_packet.h"
#include "transport/cm/outgoing_mad.h"

namespace urxe {

struct CmCore;

/// A listener of one connection manager; 0: none.
using ListenerId = StrongInt<struct ListenerIdTag, uint32_t>;

/// Bounds of what peers' requests make before they are connections: see request_gate.h.
struct CmRequestLimits {
  uint32_t max_waiting = 4096;  ///< not told to the consumer; of one source half of what is left
  uint32_t max_told = 2048;     ///< that the consumer has not answered; of one source half
  uint32_t max_replied = 1024;  ///< whose REP was not answered
  uint32_t max_replied_of_one = 64;
  /// If this many sources have half-open communications, other addresses are taken for forged until
  /// they repeat their request.
  uint32_t max_sources = 256;
};

/// The parameters of a new connection manager.
struct CmConfig {
  uint64_t ca_guid = 0;      ///< of the channel adapter, host byte order
  uint32_t id_prefix = 0;    ///< the upper kCommIdPrefixBits of all its communication ids
  SipKey id_secret{1, 2};    ///< makes ids and transaction ids hard to guess
  uint32_t max_ids = 65536;  ///< communications at a time; if there are more, time-waits end early
  CmRequestLimits requests;
  /// The time that an MRA asks for when the consumer is slow: 4.096 us * 2^n, here 17 s.
  uint8_t slow_consumer_timeout = 22;

  /// Early retries: the pause before the first retransmission of a request. It doubles for each
  /// that follows within the peer's time-out. A lost message then does not cost seconds. They count
  /// as retries, a quarter of all at most, and the last retry waits longer by as many time-outs. 0:
  /// none.
  Duration first_retry;

  /// How often to ask each process with established connections whether it still exists (probe.h;
  /// kPeerGone, kPeerSilent); 0: never. Only peers whose CA GUID marks them as urxe are asked (guid
  /// & mask == value), and never about XRC connections.
  Duration probe_interval;
  Duration probe_again = milliseconds(250);  ///< the interval while there is no answer
  uint32_t probe_limit = 100;           ///< unanswered questions in a row until the process is gone
  uint32_t quiet_after = 0;             ///< unanswered questions until kPeerQuiet; 0: never
  Duration probe_round = seconds(100);  ///< in which each connection has its turn once
  uint32_t probes_per_second = 1000;    ///< to all processes together
  uint64_t probe_guid_mask = 0;
  uint64_t probe_guid_value = 0;
};

/// The states of IBTA vol. 1, 12.9.5 (active) and 12.9.6 (passive), and 12.9.7 for SIDR.
enum class CmState : uint8_t {
  kIdle,
  kReqSent,
  kMraReqReceived,  ///< "REP wait": the peer asked for time
  kRepReceived,
  kMraRepSent,
  kReqReceived,
  kMraReqSent,
  kRepSent,
  kMraRepReceived,
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimeWait,
  kSidrReqSent,
  kSidrReqReceived,
};

/// An event for the consumer. In parentheses: the body of the message, if there is one.
struct CmEvent {
  enum class Kind : uint8_t {
    kRequest,            ///< (CmReq) for `listener`; `id` is new, and the consumer destroys it
    kReply,              ///< (CmRep) answer with confirm() or reject()
    kEstablished,        ///< passive side: the RTU came (CmRtu), or data did (CmRtu without data)
    kRejected,           ///< (CmRej) the communication is idle or in time-wait
    kRequestTimeout,     ///< no answer to the REQ, retries included
    kReplyTimeout,       ///< no answer to the REP; time-wait follows
    kMra,                ///< the peer asks for time (CmMra)
    kDisconnectRequest,  ///< (CmDreq) answer with answer_disconnect()
    /// (CmDrep) answers our DREQ. Also: both ends have sent a DREQ, or the peer has rejected it.
    /// Unasked if the connection is stale: the peer's queue pair is in a new one.
    kDisconnected,
    kDisconnectTimeout,  ///< no answer to our DREQ: disconnected; unasked if stale
    kTimeWaitExit,       ///< the queue pair may be used for a new connection
    kAlternatePath,      ///< (CmLap) answer with answer_alternate_path()
    kAlternateAnswer,    ///< (CmApr)
    kAlternateTimeout,
    kServiceRequest,  ///< (CmSidrReq) for `listener`; answer with answer_service()
    kServiceReply,    ///< (CmSidrRep) the id is idle
    kServiceTimeout,
    // The other end of an established connection is gone without a DREQ; time-wait follows.
    kPeerGone,    ///< its host has answered that it is gone
    kPeerSilent,  ///< nobody answers
    /// A process at the flow's source does not answer questions. The consumer finds out whether
    /// that host's port 4791 is closed, and if so calls port_is_closed(). No `id`.
    kPeerQuiet,
  };
  Kind kind = Kind::kRequest;
  CommId id;
  ListenerId listener;
  Flow flow;  ///< of the message; the source is the peer
  CmBody body;
};

/// Per port, as Linux shows them (cm_tx_msgs, cm_tx_retries, cm_rx_msgs, cm_rx_duplicates), by
/// index_of(attribute).
struct CmCounters {
  std::array<uint64_t, kCmAttributes> sent{};  ///< without the retries
  std::array<uint64_t, kCmAttributes> retries{};
  std::array<uint64_t, kCmAttributes> received{};
  std::array<uint64_t, kCmAttributes> duplicates{};
  std::array<uint64_t, static_cast<size_t>(MadDropReason::kCount)> drops{};
};
constexpr size_t index_of(CmAttribute attribute) {
  return static_cast<size_t>(attribute) - static_cast<size_t>(CmAttribute::kReq);
}

/// The communication manager of one channel adapter (IBTA vol. 1, chapter 12): protocol only, like
/// the rest of the transport. It retransmits, answers duplicates, keeps time-wait and finds stale
/// connections. Its consumer handles addresses, ports and queue pairs.
///
/// A consumer that is slow to answer a REQ or a REP need do nothing: once the time that the peer
/// grants for an answer is over, a duplicate is answered with an MRA. A message is accepted only
/// from the address of the communication's peer. Every received MAD is counted exactly once. Not
/// thread-safe.
///
/// Bounds: max_ids communications, as many listeners, a few events per communication (each state is
/// entered once), 2 * max_ids + 1024 MADs that wait to be sent. MADs beyond that are dropped. What
/// strangers cause has bounds of its own: requests (CmRequestLimits), answers to messages that
/// belong to no communication (answer_budget.h), and the answers to one message: not more often
/// than every 100 ms, whatever times the message names, and not more to those who repeat it.
class ConnectionManager {
 public:
  explicit ConnectionManager(const CmConfig& config);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// Only while there are no communications and no listeners.
  void configure(const CmConfig& config);

  // --- Verbs. EINVAL: there is no such id, or its state does not allow the verb.

  /// Gives the listener the REQs and SIDR_REQs for `service` under `mask` (all ones: one service).
  /// A listener on `local` is preferred to one on all addresses (nullopt). EADDRINUSE: taken;
  /// ENOMEM.
  Expected<ListenerId, Errno> listen(ServiceId service, uint64_t mask, std::optional<Gid> local);
  void stop_listening(ListenerId listener);

  /// Sends the REQ along `flow`. Fills in local_comm_id and local_ca_guid. The timeout of a
  /// retransmission is the request's remote CM response timeout plus twice `packet_lifetime`
  /// (4.096 us * 2^n). ENOMEM.
  Expected<CommId, Errno> connect(const CmReq& request, const Flow& flow, uint8_t packet_lifetime,
                                  Instant now);
  /// Sends a REP. Fills in ids and GUID. An XRC queue pair's number may be in either field.
  Expected<void, Errno> accept(CommId id, const CmRep& reply, Instant now);
  /// Sends an RTU, for a communication that has received a reply: the connection is established.
  Expected<void, Errno> confirm(CommId id, std::span<const uint8_t> private_data, Instant now);
  /// Sends a REJ, for a request or a reply that was not answered yet. The id becomes idle or enters
  /// time-wait.
  Expected<void, Errno> reject(CommId id, CmRejectReason reason, std::span<const uint8_t> info,
                               std::span<const uint8_t> private_data, Instant now);
  /// Sends an MRA, for a request, a reply or an alternate path that was not answered yet.
  Expected<void, Errno> delay(CommId id, uint8_t service_timeout,
                              std::span<const uint8_t> private_data, Instant now);
  /// Sends a DREQ; or a DREP, if the peer's DREQ waits for an answer.
  Expected<void, Errno> disconnect(CommId id, std::span<const uint8_t> private_data, Instant now);
  /// Sends a DREP.
  Expected<void, Errno> answer_disconnect(CommId id, std::span<const uint8_t> private_data,
                                          Instant now);
  /// Data has come on the connection before its RTU, which has the effect of the RTU. No effect if
  /// the RTU has come.
  Expected<void, Errno> communication_established(CommId id, Instant now);
  /// The same for the communication that waits for an RTU with that local queue pair, if there is
  /// one.
  void first_request_received(Qpn local_qpn, Instant now);
  /// Sends a LAP; active side only. Fills in ids and QPN.
  Expected<void, Errno> load_alternate_path(CommId id, const CmLap& lap, Instant now);
  /// Sends an APR.
  Expected<void, Errno> answer_alternate_path(CommId id, const CmApr& apr, Instant now);
  /// Sends a SIDR_REQ. Fills in request_id. Retries `retries` times, after `timeout` each.
  Expected<CommId, Errno> resolve_service(const CmSidrReq& request, const Flow& flow,
                                          Duration timeout, uint8_t retries, Instant now);
  /// Sends a SIDR_REP. Fills in request_id and service_id. The id becomes idle.
  Expected<void, Errno> answer_service(CommId id, const CmSidrRep& reply, Instant now);
  /// The kernel of the peer's host has reported that port 4791 is closed there (kPeerQuiet). Ends
  /// the connections with processes of that host that still do not answer (kPeerGone), and their
  /// unanswered DREQs (kDisconnectTimeout).
  void port_is_closed(const Gid& local, const Gid& peer, Instant now);
  /// The consumer forgets the id: no more events. Sends the peer the message that the state
  /// requires (REJ, DREQ or DREP). Time-wait continues without the consumer.
  void destroy(CommId id, Instant now);

  /// nullopt: no such id.
  [[nodiscard]] std::optional<CmState> state(CommId id) const;
  [[nodiscard]] size_t size() const;  ///< communications, time-wait included
  [[nodiscard]] const CmCounters& counters() const;

  // --- Driving. Device calls these.

  /// Handles the 256 bytes of a datagram to QP1 whose packet has been checked.
  void receive(std::span<const uint8_t> mad, const Flow& flow, Instant now);
  /// Runs the timers that are due, some at a time: next_deadline() says whether there are more.
  void advance(Instant now);
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  /// The next MAD to send, oldest first; nullptr: none. It is valid until the next call.
  const OutgoingMad* take_outgoing();
  [[nodiscard]] bool has_outgoing() const;
  /// The next event, oldest first.
  std::optional<CmEvent> take_event();
  [[nodiscard]] bool has_event() const;

 private:
  /// Begins a call from outside: frees the communications that the last call released.
  CmCore& begin_call();

  std::unique_ptr<CmCore> core_;
};

}  // namespace urxe
