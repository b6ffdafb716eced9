// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/host.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/topology.h"
#include "tests/sim/wire_oracle.h"

namespace urxe::sim {

/// What a run amounted to.
struct Outcome {
  uint64_t digest = 0;  ///< of every packet, time and completion
  uint64_t packets = 0;
  uint64_t completions = 0;
  uint64_t retransmissions = 0;
  uint64_t failed_sides = 0;
  Instant end{};
};

/// Sees the packets of each host: those that it sends, before anything happens to them, and those
/// that come to it.
class Tap {
 public:
  virtual ~Tap() = default;
  virtual void on_sent(size_t host, const Packet& packet, Instant now) = 0;
  virtual void on_arrival(size_t host, const Packet& packet, Instant now) = 0;
};

/// A run of one plan: a safety phase (faults on, requests flowing) and a liveness phase (faults
/// off: everything outstanding must finish, and new messages must arrive). Throws Failure.
class Simulation {
 public:
  Simulation(const Plan& plan, bool verbose);
  Outcome run();
  /// Only before run(); it outlives it.
  void set_tap(Tap* tap) { tap_ = tap; }

 private:
  void create_hosts();
  void connect_all();
  void run_safety_phase();
  void run_liveness_phase();
  void finish_all();
  void flush_all();
  bool step(Instant until);
  void drive_due_hosts();
  [[nodiscard]] std::optional<Instant> next_event() const;
  [[nodiscard]] bool all_idle() const;
  [[nodiscard]] bool queues_quiet() const;
  void transmit(size_t host, const Packet& packet, Instant now);
  void observe(size_t host, const Packet& packet);
  void check_memory();
  void cut_if_due();
  [[nodiscard]] std::vector<size_t> hosts_of(const Gid& gid) const;
  void explain_stall() const;

  Plan plan_;
  bool verbose_;
  Random random_;
  Network network_;
  WireOracle oracle_;
  std::vector<std::unique_ptr<Host>> hosts_;
  Topology topology_;
  Instant now_{};
  std::optional<Instant> cut_at_;
  bool cut_ = false;
  Tap* tap_ = nullptr;
  uint64_t sendings_ = 0;
  Outcome outcome_;
};

}  // namespace urxe::sim
