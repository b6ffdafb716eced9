// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/base/time.h"
#include "packet/wire/gid.h"
#include "packet/wire/psn.h"

namespace urxe {

// Why a queue pair is in the Error or the SQ Error state, and what it goes on after. The verbs tell
// the application little more than a status, or nothing; this is kept for whoever asks the device
// (`urxe stat --why`).

/// What happened.
enum class ErrorReason : uint8_t {
  kNone,
  kByApplication,     ///< ibv_modify_qp(3)
  kDeviceGone,        ///< the interface was removed
  kNoAnswer,          ///< retries were spent on silence (RETRY_EXC_ERR)
  kLostTooOften,      ///< retries were spent on packets reported lost (RETRY_EXC_ERR)
  kReceiverNotReady,  ///< RNR retries were spent (RNR_RETRY_EXC_ERR)
  kNak,               ///< the peer has refused a request
  kReservedSyndrome,  ///< an answer with an AETH syndrome that the specification reserves
  kBadResponse,       ///< a response that does not fit the request
  kLocalSend,         ///< a send work request that could not be carried out here
  kRefusedRequest,    ///< this end has refused a request of the peer
  kLocalReceive,      ///< the memory of a receive could not be written
  kInvalidate,        ///< a key that the peer may not invalidate
  kCompletionLost,    ///< a completion queue was full
  // A queue pair goes on after these.
  kAckTimeout,   ///< the peer was silent, and was asked again
  kSequenceNak,  ///< the peer lacks a request
  kRnrNak,       ///< the peer has no receive
  kGap,          ///< this end lacks a request
  kNoReceive,   ///< this end has no receive for a request: the peer waits, or UC, UD: it is dropped
  kDropped,     ///< UC, UD: a message is dropped, because `check` failed
  kNoResponse,  ///< a READ or atomic has no response, but a later request has an answer
  kCount,
};

/// The check that failed, for the reasons that have one.
enum class Check : uint8_t {
  kNone,
  kOperation,       ///< not enabled by the queue pair's access flags, or of another service
  kOpcodeSequence,  ///< a Middle or Last without a First, or a First within a message
  kPayloadLength,   ///< not what a packet of the opcode carries
  kMessageLength,   ///< the payloads do not add up to the length in the RETH, or it is too long
  kAlignment,       ///< of an atomic's address
  kTooManyReads,    ///< more READs, atomics and FLUSHes than max_dest_rd_atomic
  kReceiveLength,   ///< the message is longer than the receive
  kQKey,            ///< the datagram's Q_Key is not the queue pair's
  kSharedQueue,     ///< the XRC request names a shared receive queue that it may not use
  kUnknownKey,
  kOtherDomain,         ///< the key is of another protection domain
  kRights,              ///< the region or window does not grant the access
  kBounds,              ///< the range is not inside the region or window
  kNotBound,            ///< the window is not bound
  kOtherQueuePair,      ///< the type 2 window belongs to another queue pair
  kNotMapped,           ///< the application has unmapped the memory
  kPlacement,           ///< a FLUSH with no placement type, or with reserved values
  kOtherDomainOfQueue,  ///< the key is of another protection domain than the shared receive queue
  kReservedOpcode,      ///< the specification reserves the opcode
  kCount,
};

/// A failure, or what did not end the queue pair. Values that do not apply are 0.
struct ErrorCause {
  static constexpr uint8_t kNoOpcode = 0xff;

  ErrorReason reason = ErrorReason::kNone;
  Check check = Check::kNone;
  uint8_t opcode = kNoOpcode;  ///< BTH opcode of the packet received
  uint8_t syndrome = 0;        ///< AETH, received or sent
  uint8_t status = 0;          ///< ibv_wc_status of the work request that failed
  uint8_t work_request = 0;    ///< ibv_wr_opcode of it
  uint8_t retries = 0;         ///< how many were spent: the queue pair's retry count
  /// ACK timeouts beside `retries` that cost none, because processors were scarce.
  uint8_t free_timeouts = 0;
  Psn psn{};         ///< of the packet received, or of the oldest request without answer
  uint32_t key = 0;  ///< what `check` is about, also the next two
  uint64_t address = 0;
  uint64_t length = 0;  ///< bytes
  uint64_t wr_id = 0;   ///< if `status` is not 0
  // What RESET takes from the queue pair.
  uint64_t number = 0;  ///< of the device's failures (Counters::failures); 0: it is none
  Instant at{};         ///< when it went to the state, or this happened
  Gid remote{};         ///< the peer; 0: none, also the next
  uint32_t dest_qpn = 0;
  uint8_t timeout = 0;  ///< as in ibv_qp_attr
};

/// Whether something went wrong, other than by the application's will.
inline bool is_failure(const ErrorCause& cause) {
  return cause.reason != ErrorReason::kNone && cause.reason != ErrorReason::kByApplication;
}

}  // namespace urxe
