// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "packet/base/time.h"

namespace urxe::sim {

/// Sees that queue pairs with a rate limit keep to it: in no stretch of time do they send more than
/// the limit's burst, or one packet, beyond what the rate gives.
class PacingOracle {
 public:
  using Key = std::pair<size_t, uint32_t>;  ///< host and queue pair number

  void limit(Key sender, uint32_t rate_kbps, uint32_t max_burst) {
    buckets_.emplace(sender, Bucket{rate_kbps, max_burst, 0, Instant{}});
  }
  /// A request of `bytes`, with its IP header, left.
  void on_sent(Key sender, size_t bytes, Instant now);

 private:
  struct Bucket {
    uint32_t rate_kbps = 0;
    uint32_t max_burst = 0;
    int64_t microbits = 0;  ///< sent, and not made up for by the time since
    Instant at{};
  };
  std::map<Key, Bucket> buckets_;
};

}  // namespace urxe::sim
