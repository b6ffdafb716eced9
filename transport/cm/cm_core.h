// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "packet/base/deadline_heap.h"
#include "transport/cm/communications/cm_state.h"
#include "transport/cm/communications/communication_table.h"
#include "transport/cm/communications/id_sequence.h"
#include "transport/cm/connection_manager.h"
#include "transport/cm/event_queue.h"
#include "transport/cm/outbox.h"
#include "transport/cm/requests/answer_budget.h"
#include "transport/cm/requests/listener_table.h"
#include "transport/cm/requests/recent_answers.h"
#include "transport/cm/requests/request_gate.h"
#include "transport/cm/timers/closed_ports.h"
#include "transport/cm/timers/peer_process.h"

namespace urxe {

/// The longest time that urxe accepts from a peer's message: 4.096 us * 2^25 is more than two
/// minutes. The field could ask for more than two hours, and its id would be in use all that time.
inline constexpr uint8_t kMaxPeerTimeout = 25;
/// 4.096 us * 2^exponent; `exponent` has 5 bits.
Duration cm_time(uint8_t exponent);
/// The same for a value that a peer has sent: at most that of kMaxPeerTimeout.
Duration cm_time_of_peer(uint8_t exponent);

/// The shortest time between two packets that one message of a peer's causes (retries of the
/// answer, answers to duplicates), whatever times the message names.
inline constexpr Duration kLeastRetryInterval = milliseconds(100);
/// The longest time-wait of a communication whose peer has never proved that it exists.
inline constexpr Duration kUnconfirmedTimeWait = milliseconds(1000);

/// Events kPeerQuiet that wait for the consumer. The processes that find no room tell at their next
/// question.
inline constexpr size_t kMaxQuiet = 16;

/// The result of a received MAD. Each MAD is counted exactly once.
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

/// The circumstances of a received message.
struct MadContext {
  uint64_t transaction_id = 0;
  Flow flow;
  Instant now;
};

/// The connection manager's tables, and the steps that several kinds of messages share.
struct CmCore {
  explicit CmCore(const CmConfig& config);

  /// A new communication, idle. If there are max_ids already, one in time-wait makes room. nullptr:
  /// there is no room, or no memory.
  Communication* create();
  /// Takes the communication out of all tables. Callers may use it until the next call from outside
  /// of the connection manager.
  void release(Communication& c);

  /// Changes the state, with everything that entering it implies: stops the timers, updates the
  /// tables, and releases a forgotten communication that has become idle.
  void enter(Communication& c, CmState next, Instant now);
  void arm(Communication& c, Duration after, Instant now);
  /// The consumer has destroyed the communication.
  void forget(Communication& c);

  /// Sends a message that needs an answer, and sends it again until there is one.
  void send_request(Communication& c, CmBody body, uint64_t transaction_id, Duration timeout,
                    Instant now);
  /// Sends the answer to one of the peer's messages, and keeps it to answer duplicates.
  void send_response(Communication& c, CmBody body, uint64_t transaction_id);
  void repeat_request(Communication& c);
  void repeat_response(Communication& c);
  /// Whether a duplicate may be answered now. If so, the next may be after kLeastRetryInterval.
  static bool may_repeat(Communication& c, Instant now);
  /// Sends a message that is not kept.
  void send_message(const Flow& flow, CmBody body, uint64_t transaction_id);
  /// Answers a message of a communication's peer that changes nothing; the same answer only once in
  /// kLeastRetryInterval.
  void answer_peer(const MadContext& context, CmBody body);
  /// Answers a message that belongs to no communication, as kMadReceived; one that exceeds the
  /// budget is counted as kOverQuota. The same answer goes to the same peer only once in
  /// kLeastRetryInterval: kMadDuplicate.
  MadFate send_unowned(const MadContext& context, CmBody body);

  /// Tells the consumer, unless it has forgotten the communication.
  void tell(Communication& c, CmEvent::Kind kind, CmBody body, const Flow& flow);
  /// The same for an event that no message has caused: its flow names the peer as the source, as if
  /// a message had come from there.
  void tell(Communication& c, CmEvent::Kind kind, CmBody body);
  /// Tells the consumer kPeerQuiet, for a communication's flow; unless one with these addresses
  /// waits for the consumer, or kMaxQuiet others do.
  void tell_quiet(const Flow& flow);
  /// Takes a request in, which has `held_back`: tells the consumer now, or when the bounds allow
  /// it.
  void take_request(RequestSource& source, Communication& c, CmBody body, const Flow& flow);
  /// Tells the consumer of the requests that wait, as far as the bounds allow: of `source` first.
  void tell_of_requests(const RequestSource::Key* source);

  CmConfig config;
  CmCounters counters;
  CmIdSequence ids;
  CommunicationTable table;
  CmListenerTable listeners;
  DeadlineHeap<Communication, CommunicationTimer> deadlines;
  IntrusiveList<Communication, TimeWaitMembers> forgotten_time_waits;  ///< oldest first
  PeerProcessTable processes;
  ClosedPortMemory closed_ports;
  CmEventQueue events;
  std::vector<Flow> quiet;  ///< of kPeerQuiet; the sources are the peers
  RequestGate requests;
  AnswerBudget answers;
  RecentAnswers recent_answers;
  CmOutbox outbox;
  Instant next_probe_slot;
  std::vector<std::unique_ptr<Communication>> released;  ///< during this call

 private:
  [[nodiscard]] bool make_room();
  void follow_request(Communication& c, CmState next);
};

/// The flow of an answer to a message that came on `flow`.
Flow reversed(const Flow& flow);

/// The communication that a verb names, and the step to make. nullptr: no such communication, or it
/// is not in a state for `input`.
Communication* find_for_verb(CmCore& core, CommId id, CmInput input, CmStep* step);

/// The communication that a message with these ids is for. nullptr, with the reason: there is none,
/// or it is another peer's.
struct Addressee {
  Communication* communication = nullptr;
  MadDropReason reason = MadDropReason::kUnknownId;
};
Addressee find_addressee(CmCore& core, CommId local_id, CommId remote_id, const Flow& flow);
/// The same for an answer to the first message. The peer may not have told its id yet; the answer
/// must then have the transaction id of that message, which strangers have not seen.
Addressee find_answered(CmCore& core, CommId local_id, const MadContext& context);

}  // namespace urxe
