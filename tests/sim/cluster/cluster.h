// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/cluster/fabric.h"
#include "tests/sim/cluster/node.h"
#include "tests/sim/cluster/plan.h"

namespace urxe::sim {

/// What one sender sends to one receiver.
struct ClusterFlow {
  uint32_t from = 0;  ///< the host that posts
  uint32_t to = 0;
  Qpn qpn;
  uint32_t posted = 0;
  uint32_t completed = 0;
  Instant finished{};
  std::vector<Instant> posted_at;  ///< of the messages that are not complete, the oldest first
};

/// Runs a plan: the transport itself, unchanged, on every host.
class Cluster {
 public:
  explicit Cluster(const ClusterPlan& plan);

  /// Until all messages are complete. Throws Failure if a completion has an error, or if nothing
  /// happens any more.
  void run();

  [[nodiscard]] const ClusterPlan& plan() const { return plan_; }
  [[nodiscard]] const std::vector<ClusterFlow>& flows() const { return flows_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  /// How long messages took, from post to completion.
  [[nodiscard]] const std::vector<Duration>& latencies() const { return latencies_; }
  /// Payload bytes of the messages that completed.
  [[nodiscard]] const TimeSeries& goodput() const { return goodput_; }
  /// Messages that each flow had completed when the first flow was done.
  [[nodiscard]] const std::vector<uint32_t>& at_first_end() const { return at_first_end_; }
  [[nodiscard]] Instant end() const { return now_; }
  /// The same for the same plan.
  [[nodiscard]] uint64_t digest() const { return digest_; }

 private:
  void make_flows();
  void connect_flows();
  void post(ClusterFlow& flow);
  void on_complete(uint32_t number, bool bad, Instant now);
  void drive(uint32_t host);
  void step();

  const ClusterPlan plan_;
  Fabric fabric_;
  std::vector<uint8_t> memory_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<ClusterFlow> flows_;
  std::vector<std::optional<Instant>> wakes_;        ///< by host
  std::set<std::pair<int64_t, uint32_t>> schedule_;  ///< of `wakes_`
  size_t unfinished_ = 0;
  Instant now_{};
  std::vector<Duration> latencies_;
  TimeSeries goodput_{TimeSeries::Kind::kSum};
  std::vector<uint32_t> at_first_end_;
  uint64_t digest_ = 0;
};

}  // namespace urxe::sim
