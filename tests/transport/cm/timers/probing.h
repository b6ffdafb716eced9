// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/transport/cm/bench.h"

namespace urxe::test {

inline constexpr Duration kInterval = seconds(10);
inline constexpr Duration kAgain = seconds(1);
inline constexpr uint32_t kLimit = 5;

/// A connection manager that asks after its peers.
CmConfig probing();
/// To the next deadline, which has to be that of a probe alone; answers when that was.
Instant ask(Bench& bench);
/// The same, but the deadline may be another one's; whether it was a probe's.
bool next_is_probe(Bench& bench);
/// The peer is there. `transaction_id`: of the probe, by default of what was sent last.
void answer(Bench& bench, CommId id);
void answer(Bench& bench, CommId id, uint64_t transaction_id);
/// Connects to the peer's communication `remote`, whose queue pair is of the same number.
CommId connect_to(Bench& bench, CommId remote);

}  // namespace urxe::test
