// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "packet/engine/fault_plan.h"

namespace urxe {

/// The directory that describes this process's devices: what the presence object says, else the
/// environment's URXE_TREE; empty where neither names one.
const std::string& device_tree();

/// The file that all RoCE packets are to be recorded in (URXE_CAPTURE); empty: none.
const std::string& capture_path();

/// The faults that the network is to have (URXE_FAULTS, see parse_fault_plan()); nullopt: none. A
/// plan that cannot be read is none, and one line on stderr.
const std::optional<FaultPlan>& fault_plan();

/// One line on stderr, "urxe: <text>". Never fails, keeps errno.
void print_error(const std::string& text) noexcept;

}  // namespace urxe
