// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

struct QueuePair;
struct ChannelAdapter;

// Packet pacing (ibv_modify_qp_rate_limit(3)). The limit applies to the request packets of the send
// queue, retransmissions included, each counted with its IP and UDP headers. Answers (ACKs, READ
// responses) belong to the peer's send queue and are not paced, as on adapters that pace send
// queues.

inline constexpr uint32_t kMinRateKbps = 1;
inline constexpr uint32_t kMaxRateKbps = 100'000'000;

constexpr bool rate_is_valid(uint32_t kbps) {
  return kbps == 0 || (kbps >= kMinRateKbps && kbps <= kMaxRateKbps);
}

/// A limit as the application sets it.
struct RateLimit {
  uint32_t rate_kbps = 0;       ///< 0: none; else kMinRateKbps to kMaxRateKbps
  uint32_t max_burst = 0;       ///< bytes that may go out at once; 0: what suits the rate
  uint32_t typical_packet = 0;  ///< bytes; 0: the path MTU
};

/// The token bucket of one queue pair. A token is a span of time: a packet may go once the bucket
/// holds the time that the packet takes at the limit, or is full. If a burst is smaller than a
/// packet, packets go one by one.
class Pacer {
 public:
  /// Starts with a full bucket. `mtu`: in bytes, for the limit's defaults.
  void set(const RateLimit& limit, uint32_t mtu, Instant now);
  [[nodiscard]] bool is_limited() const { return rate_kbps_ != 0; }

  // If it is limited:

  [[nodiscard]] bool admits(uint32_t bytes, Instant now) const;
  void charge(uint32_t bytes, Instant now);
  /// When to try again after `bytes` were not admitted. If the bucket holds several packets, the
  /// wait is long enough for several.
  [[nodiscard]] Instant retry_at(uint32_t bytes) const;

 private:
  [[nodiscard]] Duration time_for(uint32_t bytes) const;

  uint32_t rate_kbps_ = 0;
  Duration burst_{};
  Instant full_at_{};       ///< when the bucket is full again
  uint64_t remainder_ = 0;  ///< of the division that made full_at_
};

/// The size that counts against the limit: that of the IP datagram.
uint32_t datagram_bytes(const Flow& flow, Opcode opcode, uint32_t payload);

/// Whether the queue pair may send `bytes` now. If not, it is activated again once it has tokens.
bool pacing_admits(ChannelAdapter& ca, QueuePair& qp, uint32_t bytes, Instant now);

/// Sets a new limit for all packets from now on.
void set_rate_limit(ChannelAdapter& ca, QueuePair& qp, const RateLimit& limit, Instant now);

}  // namespace urxe
