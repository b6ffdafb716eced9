// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "tests/support/random.h"
#include "tests/transport/cm/sim/sim_options.h"
#include "transport/cm/connection_manager.h"

namespace urxe::cmsim {

/// A network of MADs that loses, duplicates, delays, reorders and, where asked to, corrupts.
class Network {
 public:
  Network(const Options& options, uint64_t seed) : options_(&options), random_(seed) {}

  void send(const OutgoingMad& mad, Instant now);
  [[nodiscard]] std::optional<Instant> next() const;
  /// The next one that is due; nullopt: none.
  std::optional<OutgoingMad> take_due(Instant now);

 private:
  void post(const OutgoingMad& mad, Instant now);
  OutgoingMad corrupted(OutgoingMad mad);

  const Options* options_;
  Random random_;
  std::multimap<Instant, OutgoingMad> in_flight_;
};

}  // namespace urxe::cmsim
