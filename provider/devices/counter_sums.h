// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "provider/devices/counter_names.h"

namespace urxe {

/// By column, as counter_column() has them.
using CounterSums = std::array<uint64_t, kCounterColumns>;

/// The sums of all processes in a device's counter table: what its files in sysfs say. nullopt: it
/// cannot be read.
std::optional<CounterSums> read_counter_sums(const std::string& tree, const std::string& device);

}  // namespace urxe
