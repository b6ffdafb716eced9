// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/expected.h"
#include "packet/engine/engine_choice.h"
#include "packet/engine/fault_plans.h"
#include "packet/engine/lane_choice.h"

namespace urxe {

// What the environment asks for.

/// URXE_CAPTURE: the file that records all RoCE packets; empty: none.
const std::string& capture_path();

/// URXE_FAULTS: the faults that the network is to have, as parse_fault_plans() reads them, or the
/// error for the user.
const Expected<FaultPlans, std::string>& fault_plans();

/// URXE_ENGINE: the engine for all devices, as parse_engine_choice() reads it, or the error for the
/// user.
const Expected<EngineChoice, std::string>& engine_choice();

/// Whether processes, and lanes, can share an address: a port of DPDK belongs to one.
bool shares_ports();

/// URXE_LANES, as parse_lane_choice() reads it. Anything else is reported on stderr and ignored.
LaneChoice lane_choice();

/// URXE_DPDK_ARGS: as for --dpdk-args.
const std::string& dpdk_arguments();

/// URXE_SHM: whether the processes of a user exchange packets through memory; "0": no. Anything
/// else but "1" is reported on stderr and ignored.
bool shm_wanted();

/// URXE_STAT: whether the process publishes what `urxe stat` and `urxe top` show; "0": no. Anything
/// else but "1" is reported on stderr and ignored.
bool stat_wanted();

/// URXE_EXPLAIN: whether the process says on stderr why queue pairs have failed; "1": yes. Anything
/// else but "0" is reported on stderr and ignored.
bool explain_wanted();

}  // namespace urxe
