// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "packet/base/maybe_time.h"
#include "packet/base/time.h"
#include "packet/wire/psn.h"
#include "transport/requester/kept_responses.h"

namespace urxe {

/// Packets that are sent again by themselves, since the peer keeps what comes behind them.
struct Repair {
  Psn from;
  uint16_t packets = 0;       ///< PSNs; 0: the place is free
  uint16_t done = 0;          ///< of them, sent
  uint32_t query = 0;         ///< the number of the query that followed them
  bool is_due = false;        ///< not all were sent
  uint8_t repeats = 0;        ///< how often it has been repeated
  bool of_responses = false;  ///< READ responses are missing, not requests
  Instant sent{};             ///< if it is not due
};

/// The state of a queue pair's requester and completer (IBTA vol. 1, 9.7). All PSNs before
/// `oldest_unacked` are acknowledged; [oldest_unacked, send_psn) are in flight; [send_psn,
/// next_psn) were sent before a go-back and will be sent again; next_psn is the first one never
/// used. send_psn is the point of transmission.
struct RequesterState {
  Psn oldest_unacked;
  Psn send_psn;
  Psn next_psn;
  uint32_t send_position = 0;    ///< of the work queue element that send_psn lies in
  uint32_t assign_position = 0;  ///< of the first element that has no PSNs yet
  Ssn ssn;                       ///< of the last message that was given one

  uint32_t rd_atomic_in_flight = 0;  ///< READ requests and atomics sent, not answered
  std::optional<Ssn> limit_ssn;      ///< the last message the responder has credit for
  /// A queue pair without RNR retries waits until then for credits; they reset it. After that it
  /// sends without.
  MaybeInstant credits_due;
  uint32_t since_ack_request = 0;  ///< packets since the last one with AckReq

  // Room on the path.
  uint32_t room = 0;       ///< taken by the packets in flight, in bytes (receive_room())
  uint32_t turn_left = 0;  ///< what the turn under way may still take
  uint32_t read_room = 0;  ///< here, for the READ responses asked for (ReadWindow)

  // Retry.
  uint32_t retries_left = 0;
  uint32_t rnr_retries_left = 0;
  bool resending = false;          ///< went back: further signs of the same loss are ignored
  bool went_back_for_nak = false;  ///< a sequence NAK was the reason to go back last
  std::optional<Psn> first_ahead;  ///< the first response that showed a gap, since progress
  uint32_t asked_anew = 0;         ///< times since progress, as responses began anew
  MaybeInstant rnr_until;          ///< nothing is sent before that
  MaybeInstant ack_deadline;       ///< local ACK timeout of the oldest outstanding packet
  MaybeInstant probe_deadline;
  /// Since when an answer is awaited: when the timers were started, or the packet that it depends
  /// on was sent again.
  Instant awaits_since{};

  // Silence: packets are outstanding, and no answer comes. One of them is sent again, as a probe.
  enum class Probe : uint8_t { kNone, kNewest, kOldest };
  uint32_t silences = 0;       ///< timers that expired since the last answer
  uint32_t free_timeouts = 0;  ///< of them, ACK timeouts that cost no retry
  uint32_t ack_doublings = 0;  ///< of the ACK timeout, since the last answer
  uint32_t probe_backoff = 0;  ///< doublings of the probe timeout, until a round trip is measured
  Probe probe_due = Probe::kNone;
  Probe last_probe = Probe::kNone;  ///< the one that was sent since the last answer
  bool probe_answered = false;      ///< a probe was, and what is behind it is still outstanding
  Psn probed;                       ///< the packet of that probe
  uint32_t lone_answers = 0;        ///< in a row: such a probe was answered, and nothing behind it

  // Repair (repair.h).
  std::array<Repair, 16> repairs{};
  uint32_t repairs_used = 0;
  uint32_t repairs_due = 0;        ///< of them
  uint32_t repair_span = 0;        ///< packets of the last repair after a NAK
  std::optional<Psn> repaired_to;  ///< one past its last packet
  uint32_t silent_repairs = 0;     ///< those for want of answers, since the last one
  bool peer_reports_gaps = false;
  bool query_due = false;
  uint32_t gap_query = 0;       ///< number of the last query sent; they count from 1
  Psn gap_query_end;            ///< the point of transmission when it was sent
  MaybeInstant gap_query_sent;  ///< until it is answered

  KeptResponses kept;  ///< behind a gap (read_gaps.h)

  // One round trip being measured.
  MaybeInstant sample_sent;
  Psn sample_psn;
  bool sample_is_doubtful = false;  ///< there was silence since
  /// When the sample ends because this process did not run afterwards (note_absence()).
  MaybeInstant sample_end;
  /// A sample that was doubtful in the end: from the packet to an answer, perhaps the probe's.
  MaybeDuration doubtful_sample;

  [[nodiscard]] uint32_t in_flight() const {
    return (send_psn.value() - oldest_unacked.value()) & Psn::kMask;
  }
  /// Packets sent at least once and not acknowledged.
  [[nodiscard]] uint32_t outstanding() const {
    return (next_psn.value() - oldest_unacked.value()) & Psn::kMask;
  }
};

}  // namespace urxe
