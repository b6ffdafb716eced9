// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "tests/sim/cluster/plan.h"

namespace urxe::sim {

struct ClusterOptions {
  ClusterPlan plan;
  bool twice = false;  ///< run it two times and compare
  std::string json;    ///< files; empty: none
  std::string plot;
  std::optional<double> least_goodput;
  std::optional<double> least_share;
  std::optional<double> most_share;
};

/// Ends the program for --help (exit code 0), and for what cannot be read or run (2, one line).
ClusterOptions parse_cluster_options(int argc, char** argv);

}  // namespace urxe::sim
