// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/analyze/log_histogram.h"

namespace urxe::analyze {

/// Why a request packet was seen again.
enum class RepeatReason : uint8_t {
  kSequenceNak,  ///< the responder sent a NAK for a PSN sequence error
  kRnrNak,       ///< the responder had no receive
  kImpliedNak,   ///< a later request was answered
  kTimeout,      ///< nothing was seen that asks for it
  kDuplicate,    ///< the network delivers it twice
  kProbe,        ///< sent again by itself after a silence, sooner than by a time-out
  kUnknown,      ///< the capture cut an answer that may ask for it
  kCount,
};
inline constexpr size_t kRepeatReasons = static_cast<size_t>(RepeatReason::kCount);
std::string_view repeat_reason_name(RepeatReason reason);  ///< "sequence_nak"

/// Bounds for what nothing in a capture tells. Without an IPv4 identification, a packet that comes
/// again so soon was delivered twice; and if no CM message says the local ACK timeout, one that
/// comes again so soon was a probe, and later it was sent again after a time-out.
inline constexpr int64_t kCopyGuessNs = 250'000;
inline constexpr int64_t kProbeGuessNs = 8'000'000;

/// A NAK that ends a connection.
struct ErrorNak {
  uint64_t frame = 0;
  uint8_t code = 0;  ///< 1 to 4, as NakCode; others are reserved
  uint32_t psn = 0;
};

inline constexpr size_t kNakCodes = 32;

/// What was counted of the requests of one queue pair and of the responses to them.
struct FlowCounts {
  static constexpr size_t kKeptErrors = 16;

  uint64_t packets = 0;  ///< of requests, repeats included
  uint64_t bytes = 0;    ///< payload of requests, repeats included
  uint64_t first_frame = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t source_port_changes = 0;

  uint64_t out_of_order = 0;  ///< packets that came behind later ones
  std::array<uint64_t, kRepeatReasons> repeats{};
  uint64_t guessed_copies = 0;  ///< of repeats: those that only kCopyGuessNs says
  uint64_t guessed_probes = 0;  ///< and probes and time-outs that only kProbeGuessNs tells apart
  uint64_t lost_before = 0;     ///< packets lost on the way to the capture point, and sent again
  uint64_t lost_after = 0;      ///< packets seen that the responder then reported missing
  uint64_t corrupted = 0;       ///< packets that came with a wrong ICRC, and are not in lost_before
  uint64_t corrupted_responses = 0;
  uint64_t missed = 0;              ///< PSNs that were never seen, but were acknowledged
  uint64_t timeouts = 0;            ///< times that the requester went back without a NAK
  uint64_t answers_lost_after = 0;  ///< of these, with an answer that had been seen

  uint64_t acks = 0;
  uint64_t read_responses = 0;
  uint64_t atomic_acks = 0;
  uint64_t cut_answers = 0;  ///< ACKs or NAKs: the capture cut the syndrome
  uint64_t rnr_naks = 0;
  std::array<uint64_t, kNakCodes> naks{};  ///< by code
  std::vector<ErrorNak> error_naks;        ///< the first ones
  LogHistogram rnr_waits;                  ///< from an RNR NAK to the packet sent again
  uint64_t repeated_responses = 0;
  uint64_t missing_responses = 0;  ///< READ responses that were passed over
  uint64_t early_responses = 0;    ///< to a PSN that had not been seen
  uint64_t stray_responses = 0;    ///< far from any request

  /// From the first packet to the last one.
  [[nodiscard]] int64_t duration_ns() const { return std::max<int64_t>(last_ns - first_ns, 0); }
  [[nodiscard]] uint64_t errors() const;  ///< NAKs other than PSN sequence errors
};

}  // namespace urxe::analyze
