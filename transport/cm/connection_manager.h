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
#include "packet/wire/cm_message.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct CmCore;

/// A listener of one connection manager; 0: none.
using ListenerId = StrongInt<struct ListenerIdTag, uint32_t>;

/// What one connection manager is made with.
struct CmConfig {
  uint64_t ca_guid = 0;      ///< of the channel adapter, host byte order
  uint32_t id_prefix = 0;    ///< the upper kCommIdPrefixBits of every id that it gives out
  SipKey id_secret{1, 2};    ///< ids and transaction ids are made with it: hard to guess
  uint32_t max_ids = 65536;  ///< communications at a time, those in time-wait included
  /// What an MRA asks for where the consumer is slow: 4.096 us * 2^n, here 17 s.
  uint8_t slow_consumer_timeout = 22;

  /// Before the first retransmission of what waits for an answer, and twice as long before each
  /// that follows within the peer's time-out: what was lost need not cost seconds. These count as
  /// retries, a quarter of all at most, and the last one waits for so much longer. 0: none.
  Duration first_retry;

  /// How often each process that has other ends of established connections is asked whether they
  /// are still there (kPeerGone, kPeerSilent), by way of one of them; 0: never. Only peers are
  /// asked whose CA GUID says that they know the question: guid & mask == value; and not about
  /// connections of XRC.
  Duration probe_interval;
  Duration probe_again = milliseconds(250);  ///< how often, while there is no answer
  uint32_t probe_limit = 100;           ///< so many in a row without an answer: the process is gone
  Duration probe_round = seconds(100);  ///< in which each connection is asked after itself
  uint32_t probes_per_second = 1000;    ///< to all together; those beyond wait for their turn
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

/// What the consumer is told. In parentheses: the body of the message, where there is one.
struct CmEvent {
  enum class Kind : uint8_t {
    kRequest,         ///< a REQ for `listener`; `id` is new and the consumer's to destroy (CmReq)
    kReply,           ///< (CmRep) answer with confirm() or reject()
    kEstablished,     ///< passive side: the RTU came (CmRtu), or data did (CmRtu without data)
    kRejected,        ///< (CmRej) the communication is idle or in time-wait
    kRequestTimeout,  ///< no answer to the REQ, retries included
    kReplyTimeout,    ///< no answer to the REP; time-wait follows
    kMra,             ///< the peer asks for time (CmMra)
    kDisconnectRequest,  ///< (CmDreq) answer with answer_disconnect()
    /// (CmDrep) in answer to our DREQ, or as good as that: both ends have asked, or the peer has
    /// rejected it. Unasked where the peer's queue pair is found in a new connection: stale.
    kDisconnected,
    kDisconnectTimeout,  ///< no answer to our DREQ: as good as disconnected; unasked where stale
    kTimeWaitExit,       ///< the queue pair may be used for a new connection
    kAlternatePath,      ///< (CmLap) answer with answer_alternate_path()
    kAlternateAnswer,    ///< (CmApr)
    kAlternateTimeout,
    kServiceRequest,  ///< (CmSidrReq) for `listener`; answer with answer_service()
    kServiceReply,    ///< (CmSidrRep) the id is idle
    kServiceTimeout,
    // Established, and the other end is gone without a DREQ; time-wait follows.
    kPeerGone,    ///< as somebody there has said
    kPeerSilent,  ///< as nobody there says anything
  };
  Kind kind = Kind::kRequest;
  CommId id;
  ListenerId listener;
  Flow flow;  ///< that the message came by: source is the peer
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

/// A MAD to send from QP1: `flow.source` is ours. The source port is for the device to fill in.
struct OutgoingMad {
  Flow flow;
  MadBytes mad{};
};

/// The communication manager of one channel adapter (IBTA vol. 1, chapter 12): protocol only, like
/// the rest of the transport. It retransmits, answers duplicates, keeps time-wait and finds stale
/// connections; addresses, ports and queue pairs are its consumer's business.
///
/// A consumer that is slow to answer a REQ or a REP needs do nothing: a duplicate is answered with
/// an MRA once the time is over that the peer grants for an answer. A message is taken only from
/// the address of the communication's peer; every MAD that comes is counted exactly once. Not
/// thread-safe.
///
/// Bounds: max_ids communications, as many listeners, a few events for each communication (each
/// state is entered once), twice max_ids and 1024 MADs that wait to be sent.
class ConnectionManager {
 public:
  explicit ConnectionManager(const CmConfig& config);
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// Only while there are no communications and no listeners.
  void configure(const CmConfig& config);

  // --- Verbs. EINVAL: no such id, or not in its state. All else is said where it applies.

  /// REQs and SIDR_REQs for `service` under `mask` (all ones: just that one) go to the listener; a
  /// listener on `local` is preferred to one on all addresses (nullopt). EADDRINUSE: taken; ENOMEM.
  Expected<ListenerId, Errno> listen(ServiceId service, uint64_t mask, std::optional<Gid> local);
  void stop_listening(ListenerId listener);

  /// Sends the REQ along `flow`; local_comm_id and local_ca_guid are filled in. The timeout of a
  /// retransmission is the request's remote CM response timeout and twice `packet_lifetime`
  /// (4.096 us * 2^n). ENOMEM.
  Expected<CommId, Errno> connect(const CmReq& request, const Flow& flow, uint8_t packet_lifetime,
                                  Instant now);
  /// REP. ids and GUID are filled in. The queue pair's number of XRC may be in either field.
  Expected<void, Errno> accept(CommId id, const CmRep& reply, Instant now);
  /// RTU: the connection is established. For a communication that got a reply.
  Expected<void, Errno> confirm(CommId id, std::span<const uint8_t> private_data, Instant now);
  /// REJ, for a request or a reply that was not answered yet. The id becomes idle or time-waits.
  Expected<void, Errno> reject(CommId id, CmRejectReason reason, std::span<const uint8_t> info,
                               std::span<const uint8_t> private_data, Instant now);
  /// MRA, for a request, a reply or an alternate path that was not answered yet.
  Expected<void, Errno> delay(CommId id, uint8_t service_timeout,
                              std::span<const uint8_t> private_data, Instant now);
  /// DREQ. Where the peer's DREQ is waiting for an answer already: DREP.
  Expected<void, Errno> disconnect(CommId id, std::span<const uint8_t> private_data, Instant now);
  /// DREP.
  Expected<void, Errno> answer_disconnect(CommId id, std::span<const uint8_t> private_data,
                                          Instant now);
  /// Data has come on the connection before its RTU: as good as the RTU. OK, without
  /// effect, where the RTU has come.
  Expected<void, Errno> communication_established(CommId id, Instant now);
  /// The same for the communication, if any, that waits for an RTU with that local queue pair.
  void first_request_received(Qpn local_qpn, Instant now);
  /// LAP: the active side's. ids and QPN are filled in.
  Expected<void, Errno> load_alternate_path(CommId id, const CmLap& lap, Instant now);
  /// APR.
  Expected<void, Errno> answer_alternate_path(CommId id, const CmApr& apr, Instant now);
  /// SIDR_REQ; request_id is filled in. Retried `retries` times after `timeout` each.
  Expected<CommId, Errno> resolve_service(const CmSidrReq& request, const Flow& flow,
                                          Duration timeout, uint8_t retries, Instant now);
  /// SIDR_REP; request_id and service_id are filled in. The id becomes idle.
  Expected<void, Errno> answer_service(CommId id, const CmSidrRep& reply, Instant now);
  /// The consumer forgets the id: no more events. What the peer is owed in its state (REJ, DREQ,
  /// DREP) is sent; time-wait goes on without the consumer.
  void destroy(CommId id, Instant now);

  /// nullopt: no such id.
  [[nodiscard]] std::optional<CmState> state(CommId id) const;
  [[nodiscard]] size_t size() const;  ///< communications, time-wait included
  [[nodiscard]] const CmCounters& counters() const;

  // --- Driving, as Device is driven.

  /// The 256 bytes of a datagram to QP1 that has passed the checks of its packet.
  void receive(std::span<const uint8_t> mad, const Flow& flow, Instant now);
  void advance(Instant now);
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  /// What is to be sent, oldest first. The bytes are valid until the next call.
  const OutgoingMad* take_outgoing();
  [[nodiscard]] bool has_outgoing() const;
  /// What has happened, oldest first.
  std::optional<CmEvent> take_event();
  [[nodiscard]] bool has_event() const;

 private:
  /// Begins a call from outside: frees the communications that the last call released.
  CmCore& begin_call();

  std::unique_ptr<CmCore> core_;
};

}  // namespace urxe
