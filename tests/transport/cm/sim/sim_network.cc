// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/sim/sim_network.h"

namespace urxe::cmsim {

void Network::post(const OutgoingMad& mad, Instant now) {
  const auto most = static_cast<uint64_t>(options_->latency.ns);
  const auto latency = static_cast<int64_t>(random_.range(100'000, 100'000 + most));
  in_flight_.emplace(now + nanoseconds(latency), mad);
}

OutgoingMad Network::corrupted(OutgoingMad mad) {
  const uint64_t flips = random_.range(1, 4);
  // Mostly where the fields are.
  const uint64_t bytes = random_.percent(80) ? 64 : kMadBytes;
  for (uint64_t i = 0; i < flips; ++i) {
    mad.mad[random_.below(bytes)] ^= static_cast<uint8_t>(1U << random_.below(8));
  }
  return mad;
}

void Network::send(const OutgoingMad& mad, Instant now) {
  const bool calm = now >= Instant{} + options_->calm;
  if (calm) return post(mad, now);
  if (random_.percent(options_->corruption)) post(corrupted(mad), now);
  if (random_.percent(options_->duplication)) post(mad, now);
  if (!random_.percent(options_->loss)) post(mad, now);
}

std::optional<Instant> Network::next() const {
  if (in_flight_.empty()) return std::nullopt;
  return in_flight_.begin()->first;
}

std::optional<OutgoingMad> Network::take_due(Instant now) {
  if (in_flight_.empty() || in_flight_.begin()->first > now) return std::nullopt;
  const OutgoingMad mad = in_flight_.begin()->second;
  in_flight_.erase(in_flight_.begin());
  return mad;
}

}  // namespace urxe::cmsim
