// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tests/sim/cluster/cluster.h"

namespace urxe::sim {

/// An SVG file: goodput of the whole cluster and the deepest queue of the switch over time.
std::string plot(const Cluster& cluster, const std::string& title);

}  // namespace urxe::sim
