// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "packet/base/time.h"
#include "packet/wire/psn.h"

namespace urxe {

/// What the requester and the completer of a queue pair know. Everything before `oldest_unacked` is
/// acknowledged; [oldest_unacked, send_psn) is in flight; [send_psn, next_psn) was sent before a
/// go-back and will be sent again; next_psn is the first number never used.
struct RequesterState {
  Psn oldest_unacked;
  Psn send_psn;
  Psn next_psn;
  uint32_t send_position = 0;    ///< of the work queue element that send_psn lies in
  uint32_t assign_position = 0;  ///< of the first element that has no PSNs yet
  Ssn ssn;                       ///< of the last message that was given one

  uint32_t rd_atomic_in_flight = 0;  ///< READ requests and atomics sent, not answered
  std::optional<Ssn> limit_ssn;      ///< the last message the responder has credit for
  uint32_t since_ack_request = 0;    ///< packets since the last one with AckReq

  // Retry.
  uint32_t retries_left = 0;
  uint32_t rnr_retries_left = 0;
  bool resending = false;               ///< went back; older signs of the same loss mean nothing
  bool probing = false;                 ///< after a timeout: one packet until an answer comes
  uint32_t probe_backoff = 0;           ///< doublings of the probe timeout
  std::optional<Instant> rnr_until;     ///< nothing is sent before that
  std::optional<Instant> ack_deadline;  ///< local ACK timeout of the oldest outstanding packet
  std::optional<Instant> probe_deadline;

  // One round trip being measured.
  std::optional<Instant> sample_sent;
  Psn sample_psn;

  [[nodiscard]] uint32_t in_flight() const {
    return (send_psn.value() - oldest_unacked.value()) & Psn::kMask;
  }
  /// Packets sent at least once and not acknowledged.
  [[nodiscard]] uint32_t outstanding() const {
    return (next_psn.value() - oldest_unacked.value()) & Psn::kMask;
  }
};

}  // namespace urxe
