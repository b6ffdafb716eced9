// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct QueuePair;
struct ChannelAdapter;

// Packet pacing (ibv_modify_qp_rate_limit(3)). The limit is on what the send queue puts on the
// wire: request packets, those sent again included, each with its IP and UDP headers. Answers
// (ACKs, READ responses) belong to the peer's send queue and are not paced, as on adapters that
// pace send queues.

inline constexpr uint32_t kMinRateKbps = 1;
inline constexpr uint32_t kMaxRateKbps = 100'000'000;

constexpr bool rate_is_valid(uint32_t kbps) {
  return kbps == 0 || (kbps >= kMinRateKbps && kbps <= kMaxRateKbps);
}

/// A limit as the application states it.
struct RateLimit {
  uint32_t rate_kbps = 0;       ///< 0: none; else kMinRateKbps to kMaxRateKbps
  uint32_t max_burst = 0;       ///< bytes that may go out at once; 0: what suits the rate
  uint32_t typical_packet = 0;  ///< bytes; 0: the path MTU
};

/// The token bucket of one queue pair. Tokens are counted in the time that they take to come: a
/// packet is let through once its time, or a full bucket, is there. A burst smaller than a packet
/// lets packets through one by one.
class Pacer {
 public:
  /// A full bucket of the new size. `mtu`: in bytes, for the limit's defaults.
  void set(const RateLimit& limit, uint32_t mtu, Instant now);
  [[nodiscard]] bool is_limited() const { return rate_kbps_ != 0; }

  // For a limited one:

  [[nodiscard]] bool admits(uint32_t bytes, Instant now) const;
  void charge(uint32_t bytes, Instant now);
  /// When to try again where `bytes` were not admitted: not for each packet, if the bucket holds
  /// several.
  [[nodiscard]] Instant retry_at(uint32_t bytes) const;

 private:
  [[nodiscard]] Duration time_for(uint32_t bytes) const;

  uint32_t rate_kbps_ = 0;
  Duration burst_{};
  Instant full_at_{};       ///< when the bucket is full again
  uint64_t remainder_ = 0;  ///< of the division that made full_at_
};

/// What a packet counts as: the IP datagram.
uint32_t datagram_bytes(const Flow& flow, Opcode opcode, uint32_t payload);

/// Whether the queue pair may send `bytes` now; else it waits for tokens.
bool pacing_admits(ChannelAdapter& ca, QueuePair& qp, uint32_t bytes, Instant now);

/// Takes a new limit over, for whatever is sent from now on.
void set_rate_limit(ChannelAdapter& ca, QueuePair& qp, const RateLimit& limit, Instant now);

}  // namespace urxe
