// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/cm/connection_manager.h"

namespace urxe {

// The state machines of IBTA vol. 1, 12.9.5 (active), 12.9.6 (passive), 12.9.7 (SIDR) and 12.9.8
// (alternate paths) as values: the step for every input in every state.

inline constexpr size_t kCmStates = static_cast<size_t>(CmState::kSidrReqReceived) + 1;
const char* cm_state_name(CmState state);  ///< "req_sent"

/// The inputs of a communication: verbs, messages, time.
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
  kTimeout,  ///< the last retry was not answered; time-wait is over
  kPeerGone,
  kCount,
};
inline constexpr size_t kCmInputs = static_cast<size_t>(CmInput::kCount);
const char* cm_input_name(CmInput input);  ///< "mra_of_req"

enum class CmVerdict : uint8_t {
  kIllegal,    ///< a verb: EINVAL; a message: dropped, wrong state
  kNew,        ///< accepted
  kDuplicate,  ///< accepted before: answered at most
};

/// The message that a step sends to the peer.
enum class CmReply : uint8_t {
  kNothing,
  kRepeat,       ///< the first answer again
  kMra,          ///< the consumer is slow
  kRejectStale,  ///< or the REJ that has ended the communication
  kRejectAgain,  ///< the REJ that has ended the communication, if one has
  kRejectTimeout,
  kDrep,
};

struct CmStep {
  CmVerdict verdict = CmVerdict::kIllegal;
  CmState next = CmState::kIdle;  ///< of an illegal step: the present state
  CmReply reply = CmReply::kNothing;
};

/// Defined for every pair: an illegal step is a value too.
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
  kLapAgain,  ///< a duplicate of the one that was answered last
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
