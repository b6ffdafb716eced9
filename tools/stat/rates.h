// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// The speed of one queue pair, or of several, per second; or what there was so far.
struct Rates {
  double sent_bytes = 0;
  double received_bytes = 0;
  double messages = 0;  ///< completed, by both queues, and the peer's requests but SENDs
  double resent = 0;    ///< packets
  double timeouts = 0;  ///< local ACK timeouts
  double rnr_naks = 0;  ///< received and sent

  Rates& operator+=(const Rates& other);
};

/// What happened between two observations; nullopt: the queue pair was not in `before`, or no time
/// has passed between them.
std::optional<Rates> rates_of(const Observation& before, const DeviceObservation& device,
                              const QpReport& report);

/// What there was so far.
Rates totals_of(const QpReport& report);

}  // namespace urxe::stat
