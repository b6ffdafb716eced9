// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/cluster/cluster.h"

namespace urxe::sim {

/// What a run of a cluster shows.
struct ClusterFigures {
  double seconds = 0;      ///< of virtual time, until the last message
  double goodput = 0;      ///< payload, against what the links could carry; 0 .. 1
  double least_share = 0;  ///< when the first flow was done: of the mean flow, the slowest's part
  double most_share = 0;   ///< and the fastest's
  double jain = 0;         ///< Jain's fairness index of the same shares; 1: all are equal
  double latency_50_us = 0;
  double latency_99_us = 0;
  double latency_most_us = 0;
  Fabric::Totals fabric;
  uint64_t retransmitted = 0;
  uint64_t timeouts = 0;  ///< ACK timeouts
  uint64_t probes = 0;
  uint64_t notifications = 0;  ///< CNPs
  uint64_t digest = 0;
};

ClusterFigures figures_of(const Cluster& cluster);
/// Some lines of text.
std::string describe(const ClusterPlan& plan, const ClusterFigures& figures);
/// One JSON object, with a line feed.
std::string to_json(const ClusterPlan& plan, const ClusterFigures& figures);

}  // namespace urxe::sim
