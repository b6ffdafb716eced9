// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "packet/wire/cm/mad.h"
#include "provider/devices/counter_sums.h"

namespace urxe::umad {

/// The performance management agent of a port (IBTA vol. 1, 16.1): the response to a request of the
/// class PerfMgt. ClassPortInfo, PortCounters and PortCountersExtended can be read; they have the
/// values of the files below ports/1/counters, as far as their fields reach, and QP1Dropped that of
/// all drop_mad_*. The counters cannot be reset. nullopt: no response is due.
std::optional<MadBytes> answer_performance(MadView request, const CounterSums& sums);

/// Whether the request is one to reset counters.
bool asks_for_reset(MadView request);

}  // namespace urxe::umad
