// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/transport/cm/sim/sim_network.h"
#include "tests/transport/cm/sim/sim_node.h"

namespace urxe::cmsim {

/// Nodes on a network, in virtual time: first with faults, then, from options.calm on, without,
/// when all must come to an end.
class World {
 public:
  explicit World(const Options& options);
  /// Empty: nothing was wrong.
  std::vector<std::string> run();
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void fail(const std::string& what);
  void step();
  void crash_some();
  void let_some_die();
  /// Connections that only one end knows of are found where the ends ask after each other.
  void check_half_open();
  void deliver();
  [[nodiscard]] std::optional<Instant> next() const;

  Options options_;
  Instant now_;
  Random random_;
  Network network_;
  Ledger ledger_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::deque<Instant> crashes_;
  std::deque<Instant> deaths_;
  std::set<End> half_open_;      ///< when it was looked last
  std::optional<Instant> look_;  ///< next
  std::vector<std::string> failures_;
};

}  // namespace urxe::cmsim
