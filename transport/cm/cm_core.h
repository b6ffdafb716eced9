// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transport/cm/cm_state.h"
#include "transport/cm/communication_table.h"
#include "transport/cm/connection_manager.h"
#include "transport/cm/deadline_heap.h"
#include "transport/cm/event_queue.h"
#include "transport/cm/id_sequence.h"
#include "transport/cm/listener_table.h"
#include "transport/cm/outbox.h"
#include "transport/cm/peer_process.h"

namespace urxe {

/// The longest time that a peer's word is taken for: 4.096 us * 2^25 is more than two minutes. Its
/// fields could ask for more than two hours, during which an id could not be used.
inline constexpr uint8_t kMaxPeerTimeout = 25;
/// 4.096 us * 2^exponent, of 5 bits.
Duration cm_time(uint8_t exponent);
Duration cm_time_of_peer(uint8_t exponent);

/// What a received MAD has come to. Each is counted exactly once.
struct MadFate {
  enum class Kind : uint8_t { kReceived, kDuplicate, kDropped };
  Kind kind = Kind::kReceived;
  MadDropReason reason = MadDropReason::kCount;
};
inline constexpr MadFate kMadReceived{};
inline constexpr MadFate kMadDuplicate{MadFate::Kind::kDuplicate, MadDropReason::kCount};
constexpr MadFate mad_dropped(MadDropReason reason) {
  return {MadFate::Kind::kDropped, reason};
}

/// What comes with a message.
struct MadContext {
  uint64_t transaction_id = 0;
  Flow flow;
  Instant now;
};

/// The connection manager's tables, and what all of its parts do with a communication.
struct CmCore {
  explicit CmCore(const CmConfig& config);

  /// A new communication, idle. nullptr: max_ids, or no memory.
  Communication* create();
  /// Whoever holds the communication may use it until the next call from outside.
  void release(Communication& c);

  /// To another state, and what every entry into it means: timers, tables, and that a forgotten
  /// communication which has become idle is released.
  void enter(Communication& c, CmState next, Instant now);
  void arm(Communication& c, Duration after, Instant now);

  /// Sends a message that wants an answer, and sends it again until there is one.
  void send_request(Communication& c, CmBody body, uint64_t transaction_id, Duration timeout,
                    Instant now);
  /// Sends a message that answers one of the peer's, and keeps it for the duplicates of that.
  void send_response(Communication& c, CmBody body, uint64_t transaction_id);
  void repeat_request(Communication& c);
  void repeat_response(Communication& c);
  /// Answers a message that belongs to no communication.
  void send_message(const Flow& flow, CmBody body, uint64_t transaction_id);
  void send_unowned(const MadContext& context, CmBody body);

  /// Unless the consumer has forgotten it.
  void tell(Communication& c, CmEvent::Kind kind, CmBody body, const Flow& flow);
  /// Of an event that no message has made: the peer is the source, as if one had.
  void tell(Communication& c, CmEvent::Kind kind, CmBody body);

  CmConfig config;
  CmCounters counters;
  CmIdSequence ids;
  CommunicationTable table;
  CmListenerTable listeners;
  DeadlineHeap<Communication> deadlines;
  PeerProcessTable processes;
  CmEventQueue events;
  CmOutbox outbox;
  Instant next_probe_slot;
  std::vector<std::unique_ptr<Communication>> released;  ///< in this call
};

/// The flow of an answer.
Flow reversed(const Flow& flow);

/// nullptr: none, or not in a state for `input`; else the step that is to be made.
Communication* find_for_verb(CmCore& core, CommId id, CmInput input, CmStep* step);

// --- Messages, and the verbs that are more than one line.

MadFate receive_req(CmCore& core, const CmReq& req, const MadContext& context);
MadFate receive_mra(CmCore& core, const CmMra& mra, const MadContext& context);
MadFate receive_rej(CmCore& core, const CmRej& rej, const MadContext& context);
MadFate receive_rep(CmCore& core, const CmRep& rep, const MadContext& context);
MadFate receive_rtu(CmCore& core, const CmRtu& rtu, const MadContext& context);
MadFate receive_dreq(CmCore& core, const CmDreq& dreq, const MadContext& context);
MadFate receive_drep(CmCore& core, const CmDrep& drep, const MadContext& context);
MadFate receive_sidr_req(CmCore& core, const CmSidrReq& request, const MadContext& context);
MadFate receive_sidr_rep(CmCore& core, const CmSidrRep& reply, const MadContext& context);
MadFate receive_lap(CmCore& core, const CmLap& lap, const MadContext& context);
MadFate receive_apr(CmCore& core, const CmApr& apr, const MadContext& context);

/// The communication that a message with these ids is for. nullptr and why: none, or another
/// peer's.
struct Addressee {
  Communication* communication = nullptr;
  MadDropReason reason = MadDropReason::kUnknownId;
};
/// `remote_id` nullopt: the peer may not have said it yet.
Addressee find_addressee(CmCore& core, CommId local_id, std::optional<CommId> remote_id,
                         const Flow& flow);

void send_mra(CmCore& core, Communication& c, CmAnswered answered, uint8_t service_timeout,
              std::span<const uint8_t> private_data, uint64_t transaction_id);
/// REJ as the state of the communication asks for; that it is left then is the caller's.
void send_rej(CmCore& core, Communication& c, CmRejectReason reason, std::span<const uint8_t> info,
              std::span<const uint8_t> private_data);
/// REJ, reason timeout: names the communication by our channel adapter and our id, as the peer may
/// not know more.
void send_rej_timeout(CmCore& core, Communication& c);
void answer_rej(CmCore& core, const MadContext& context, CmAnswered rejected, CmRejectReason reason,
                CommId local_id, CommId remote_id);
void send_dreq(CmCore& core, Communication& c, std::span<const uint8_t> private_data, Instant now);
void send_drep(CmCore& core, Communication& c, std::span<const uint8_t> private_data);
void refuse_service(CmCore& core, Communication& c, CmSidrStatus status);
void establish(CmCore& core, Communication& c, const CmRtu& rtu, const Flow& flow, Instant now);
/// The REQ or REP has met a communication with the same queue pair of the peer's: that one is over.
void end_stale(CmCore& core, Communication& stale, Instant now);
/// The last retry of an alternate path's message was not answered.
void time_out_alternate_path(CmCore& core, Communication& c);
void destroy_communication(CmCore& core, Communication& c, Instant now);
/// The queue pair of a DREQ that only asks: no queue pair's number, but multicast's.
inline constexpr Qpn kProbeQpn{kMulticastQpn};
/// Of a connection that has become established.
void start_probing(CmCore& core, Communication& c, Instant now);
/// The time of a probe has come; perhaps not yet its turn.
void run_probe(CmCore& core, PeerProcess& process, Instant now);
bool answers_probe(const Communication& c, const MadContext& context);
/// The peer is there.
MadFate receive_probe_answer(CmCore& core, Communication& c, Instant now);
/// The peer knows nothing of the connection, which is established.
MadFate find_peer_gone(CmCore& core, Communication& c, const CmDrep& drep,
                       const MadContext& context);
/// The peer asks for an end that is here: in time-wait the connection is over.
MadFate receive_probe(CmCore& core, Communication& c, const MadContext& context);
/// A communication's deadline has come.
/// How long to wait for an answer before the next retry, or, where there is none left, the end.
Duration pause_before_retry(const CmCore& core, Communication& c);
void run_timer(CmCore& core, Communication& c, Instant now);

struct ConnectionManager::Impl {
  explicit Impl(const CmConfig& config) : core(std::make_unique<CmCore>(config)) {}
  /// A call from outside begins: what the last one has released goes.
  CmCore& enter();
  std::unique_ptr<CmCore> core;
};

}  // namespace urxe
