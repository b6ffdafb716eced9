// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/cm/connection_manager.h"

namespace urxe {

// The state machines of IBTA vol. 1, 12.9.5 (active), 12.9.6 (passive), 12.9.7 (SIDR) and 12.9.8
// (alternate paths) as values: whatever may happen in whatever state, and what it comes to.

inline constexpr size_t kCmStates = static_cast<size_t>(CmState::kSidrReqReceived) + 1;
const char* cm_state_name(CmState state);  ///< "req_sent"

/// What can happen to a communication: verbs, messages, time.
enum class CmInput : uint8_t {
  // verbs
  kConnect,
  kAccept,
  kConfirm,
  kReject,
  kDelay,
  kDisconnect,
  kAnswerDisconnect,
  kEstablish,  ///< data came before the RTU
  kResolveService,
  kAnswerService,
  // messages
  kReq,
  kMraOfReq,
  kMraOfRep,
  kRej,
  kRejStale,
  kRep,
  kRtu,
  kDreq,
  kDrep,
  kSidrReq,
  kSidrRep,
  // time
  kTimeout,  ///< the last retry was not answered; of time-wait: it is over
  kPeerGone,
  kCount,
};
inline constexpr size_t kCmInputs = static_cast<size_t>(CmInput::kCount);
const char* cm_input_name(CmInput input);  ///< "mra_of_req"

enum class CmVerdict : uint8_t {
  kIllegal,    ///< a verb: EINVAL; a message: dropped as of the wrong state
  kNew,        ///< taken
  kDuplicate,  ///< has been taken before: at most answered
};

/// What the peer is sent because of it.
enum class CmReply : uint8_t {
  kNothing,
  kRepeat,       ///< what answered it the first time
  kMra,          ///< the consumer is slow
  kRejectStale,  ///< or the REJ that has ended the communication
  kRejectAgain,  ///< the REJ that has ended the communication, if one has
  kRejectTimeout,
  kDrep,
};

struct CmStep {
  CmVerdict verdict = CmVerdict::kIllegal;
  CmState next = CmState::kIdle;  ///< of an illegal step: the state that it was in
  CmReply reply = CmReply::kNothing;
};

/// Total: a step that must not be is a value.
CmStep cm_step(CmState state, CmInput input);

/// The exchange of an alternate path, within the established state.
enum class AlternateState : uint8_t {
  kNone,
  kLapSent,
  kMraLapReceived,
  kLapReceived,
  kMraLapSent,
};
inline constexpr size_t kAlternateStates = static_cast<size_t>(AlternateState::kMraLapSent) + 1;
const char* alternate_state_name(AlternateState state);  ///< "lap_sent"

enum class AlternateInput : uint8_t {
  // verbs
  kLoad,
  kAnswer,
  kDelay,
  // messages
  kLap,
  kLapAgain,  ///< the one that was answered last
  kMra,
  kApr,
  // time
  kTimeout,
  kCount,
};
inline constexpr size_t kAlternateInputs = static_cast<size_t>(AlternateInput::kCount);
const char* alternate_input_name(AlternateInput input);

struct AlternateStep {
  CmVerdict verdict = CmVerdict::kIllegal;
  AlternateState next = AlternateState::kNone;
  CmReply reply = CmReply::kNothing;
};
AlternateStep alternate_step(AlternateState state, AlternateInput input);

}  // namespace urxe
