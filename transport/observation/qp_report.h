// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/wire/gid.h"
#include "transport/device/channel_adapter.h"
#include "transport/observation/error_cause.h"
#include "transport/observation/qp_counters.h"

namespace urxe {

struct QueuePair;

/// What keeps the send queue of a queue pair from sending more; or else, the peer.
enum class WaitReason : uint8_t {
  kNothing,           ///< nothing is posted, or it sends with its next turn
  kState,             ///< there is something posted, and the state sends nothing
  kAnswer,            ///< an ACK or a response is due: all is sent, or the peer is silent
  kReceiverNotReady,  ///< the peer has no receive: the RNR timer runs
  kCredits,           ///< the peer has announced too few receives
  kWindow,            ///< the path, or the receiver's buffer, is full
  kPacing,            ///< the queue pair's rate limit
  kReads,             ///< max_rd_atomic READs and atomics are in flight
  kReadRoom,          ///< responses would not fit into this device's receive buffer
  kFence,             ///< a fenced request behind READs or atomics
  kDrain,             ///< SQD begins no new message
  kReceive,           ///< the peer has a request for which no receive is posted
  kCount,
};

/// How full a queue is.
struct QueueFill {
  uint32_t waiting = 0;
  uint32_t capacity = 0;
};

/// A completion queue.
struct CqReport {
  uint32_t number = 0;   ///< among the device's; 0: there is none
  uint32_t waiting = 0;  ///< completions that were not polled
  uint32_t capacity = 0;
  bool is_armed = false;  ///< an event is asked for
  bool in_error = false;  ///< it was full when a completion came
};

/// What a device tells of one of its queue pairs: plain values, which other processes may read.
struct QpReport {
  uint32_t qpn = 0;
  uint32_t dest_qpn = 0;
  uint8_t type = 0;   ///< ibv_qp_type
  uint8_t state = 0;  ///< ibv_qp_state
  WaitReason waits_for = WaitReason::kNothing;
  bool has_peer = false;  ///< the addresses and the path are known
  bool uses_srq = false;
  bool is_paced = false;
  uint8_t timeout = 0;  ///< as in ibv_qp_attr, like the next two
  uint8_t retry_count = 0;
  uint8_t rnr_retry = 0;
  uint8_t migration_state = 0;  ///< ibv_mig_state
  uint16_t source_port = 0;
  uint32_t mtu = 0;  ///< bytes
  Gid local;
  Gid remote;
  QueueFill send_queue;     ///< work requests that have not completed
  QueueFill receive_queue;  ///< the same of its own one; those not taken of the shared one
  CqReport send_cq;
  CqReport receive_cq;
  uint32_t outstanding = 0;   ///< request packets without answer
  uint32_t window = 0;        ///< of the path, in bytes of the receiver's buffer
  uint32_t window_used = 0;   ///< of it, by all queue pairs of the path; packets in a silence: none
  uint32_t reads_owed = 0;    ///< READs and atomics of the peer that are being answered
  int64_t round_trip_ns = 0;  ///< smoothed; 0: not measured
  uint32_t next_psn = 0;      ///< of the next new request
  uint32_t unacked_psn = 0;   ///< the oldest without answer
  uint32_t expected_psn = 0;  ///< of the peer's next request
  uint32_t domain = 0;        ///< its protection domain; 0: an XRC target has none
  uint32_t srq = 0;  ///< its shared receive queue; 0: it has none, or any of its XRC domain
  QpCounters counters;
  ErrorCause cause;       ///< of the state ERR or SQE
  ErrorCause last_error;  ///< the last failure that it has recovered from
  ErrorCause trouble;     ///< the last thing that it went on after
};

/// The failure that the queue pair is in, or else its last error; null: it has had none.
inline const ErrorCause* failure_of(const QpReport& report) {
  if (is_failure(report.cause)) return &report.cause;
  return is_failure(report.last_error) ? &report.last_error : nullptr;
}

QpReport report_on(const ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
