// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/deadline_heap.h"
#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/roce_packet.h"
#include "transport/cm/communications/cm_state.h"

namespace urxe {

struct PeerProcess;
struct PeerProcessMembers;
struct RequestSource;
struct HalfOpenMembers;
struct RepliedOfSource;
struct TimeWaitMembers;

/// How far a peer's request has come, for the bounds of request_gate.h.
enum class HalfOpen : uint8_t {
  kNone,       ///< it is over, or this end has asked
  kWaiting,    ///< the consumer has not heard of it
  kTold,       ///< the consumer has not answered it
  kReplied,    ///< the peer has not answered the REP
  kConfirmed,  ///< a connection
};

/// A message that was sent, kept to send it again.
struct SentMessage {
  MadBytes mad{};
  std::optional<CmAttribute> attribute;  ///< nullopt: none
};

/// One end of a connection, or of a service resolution.
struct Communication : ListHook<PeerProcessMembers>,
                       ListHook<HalfOpenMembers>,
                       ListHook<RepliedOfSource>,
                       ListHook<TimeWaitMembers>,
                       DeadlineHook<struct CommunicationTimer> {
  CommId id;
  CommId remote_id;  ///< 0 until the peer has told it; of SIDR: the request id
  CmState state = CmState::kIdle;
  AlternateState alternate = AlternateState::kNone;
  bool passive = false;
  /// The consumer has destroyed it, or has not heard of it yet; the protocol continues.
  bool forgotten = false;
  CmTransport transport = CmTransport::kRc;
  ServiceId service_id;
  ListenerId listener;  ///< that the request came for; 0: none

  Flow flow;                    ///< of messages to the peer
  uint16_t peer_port = 0;       ///< that the peer's REQ or REP came from
  uint64_t remote_ca_guid = 0;  ///< with remote_id
  Qpn local_qpn;
  Qpn remote_qpn;

  uint64_t transaction_id = 0;            ///< of the REQ, SIDR_REQ or DREQ to answer
  uint64_t alternate_transaction_id = 0;  ///< of the LAP
  Duration response_timeout;              ///< the peer's time to answer, with transit
  Duration request_timeout;               ///< the same for the request sent last
  Duration packet_lifetime;
  Duration time_wait;
  Duration own_response_time;  ///< the time to answer that we have told the peer
  Instant answer_due;          ///< when the peer may expect an answer to its REQ or REP
  Instant retry_at;            ///< of the request
  uint8_t max_retries = 0;
  uint8_t retries_left = 0;
  uint8_t early_retries = 0;   ///< those made within the first time-out
  bool next_is_early = false;  ///< the next retry is an early one
  /// retries_left at the last MRA: the next MRA counts only after another retry.
  std::optional<uint8_t> retries_at_mra;
  std::optional<Instant> patience_ends;  ///< MRAs count until then

  HalfOpen half_open = HalfOpen::kNone;
  RequestSource* source = nullptr;     ///< of the request, unless half_open is kNone
  Instant replied_at;                  ///< HalfOpen::kReplied
  std::unique_ptr<CmEvent> held_back;  ///< HalfOpen::kWaiting: the request

  PeerProcess* peer_process = nullptr;           ///< asked whether it exists; nullptr: none is
  std::optional<uint64_t> probe_transaction_id;  ///< of all probes

  SentMessage request;    ///< waits for an answer; sent again after a time-out
  SentMessage response;   ///< the last answer to the peer; sent again to duplicates
  Instant may_repeat_at;  ///< answers to duplicates before that are not sent

  std::vector<uint64_t> events;  ///< in the event queue, oldest first

  // The tables that it is in.
  bool in_remote_ids = false;
  bool in_remote_qpns = false;
  bool waits_for_rtu = false;
  bool in_service_requests = false;
};

}  // namespace urxe
