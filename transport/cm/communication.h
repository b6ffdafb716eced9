// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/deadline_heap.h"
#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "packet/wire/cm_message.h"
#include "packet/wire/roce_packet.h"
#include "transport/cm/cm_state.h"

namespace urxe {

struct PeerProcess;
struct PeerProcessMembers;

/// A message as it was sent, kept to be sent again.
struct SentMessage {
  MadBytes mad{};
  std::optional<CmAttribute> attribute;  ///< nullopt: none
};

/// One end of a connection, or of a service resolution.
struct Communication : ListHook<PeerProcessMembers>, DeadlineHook<struct CommunicationTimer> {
  CommId id;
  CommId remote_id;  ///< 0 until the peer has said it; of SIDR: the request's
  CmState state = CmState::kIdle;
  AlternateState alternate = AlternateState::kNone;
  bool passive = false;
  bool forgotten = false;  ///< destroyed by the consumer; what the peer is owed goes on
  CmTransport transport = CmTransport::kRc;
  ServiceId service_id;
  ListenerId listener;  ///< whose request it is; 0: none's

  Flow flow;                    ///< of what we send: the peer is the destination
  uint64_t remote_ca_guid = 0;  ///< with remote_id
  Qpn local_qpn;
  Qpn remote_qpn;

  uint64_t transaction_id = 0;            ///< of the REQ, SIDR_REQ or DREQ that is being answered
  uint64_t alternate_transaction_id = 0;  ///< of the LAP
  Duration response_timeout;              ///< for the peer to answer, transit included
  Duration request_timeout;               ///< the same for what was sent last
  Duration packet_lifetime;
  Duration time_wait;
  Duration own_response_time;  ///< what we have told the peer that an answer may take
  Instant answer_due;          ///< the peer cannot expect an answer to its REQ or REP before
  uint8_t max_retries = 0;
  uint8_t retries_left = 0;
  uint8_t early_retries = 0;   ///< of those made, within the first time-out
  bool retries_early = false;  ///< the next retry is such a one
  /// As the last MRA found them: another one is heeded only after another retry.
  std::optional<uint8_t> retries_at_mra;
  std::optional<Instant> patience_ends;  ///< MRAs of what was sent last are heeded until then

  PeerProcess* peer_process = nullptr;           ///< who is asked after; nullptr: nobody
  std::optional<uint64_t> probe_transaction_id;  ///< of all probes

  SentMessage request;   ///< what waits for an answer: sent again when its time is over
  SentMessage response;  ///< what has answered the peer: sent again when the peer asks again

  std::vector<uint64_t> events;  ///< that wait in the event queue, oldest first

  // In which tables it is.
  bool in_remote_ids = false;
  bool in_remote_qpns = false;
  bool waits_for_rtu = false;
  bool in_service_requests = false;
};

}  // namespace urxe
