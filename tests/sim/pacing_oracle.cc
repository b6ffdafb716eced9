// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/pacing_oracle.h"

#include <algorithm>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr int64_t kMicrobitsPerByte = 8000000;

}  // namespace

void PacingOracle::on_sent(Key sender, size_t bytes, Instant now) {
  const auto it = buckets_.find(sender);
  if (it == buckets_.end()) return;
  Bucket& bucket = it->second;
  // A kilobit a second is a microbit a nanosecond.
  const int64_t gained = (now - bucket.at).ns * bucket.rate_kbps;
  const int64_t sent = static_cast<int64_t>(bytes) * kMicrobitsPerByte;
  bucket.microbits = std::max<int64_t>(0, bucket.microbits - gained) + sent;
  bucket.at = now;
  const int64_t most = std::max<int64_t>(bucket.max_burst * kMicrobitsPerByte, sent);
  // The times of a full bucket and of the wait are whole nanoseconds.
  require(bucket.microbits <= most + 2 * int64_t{bucket.rate_kbps}, [&] {
    return text("wire: qp 0x%x sends faster than %u kb/s: %lld bytes ahead", sender.second,
                bucket.rate_kbps,
                static_cast<long long>((bucket.microbits - most) / kMicrobitsPerByte));
  });
}

}  // namespace urxe::sim
