// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "packet/engine/fault_plan.h"
#include "packet/engine/faulty_lane.h"
#include "packet/engine/forwarding_engine.h"

namespace urxe {

/// Wraps an engine in a network that loses, duplicates, reorders and corrupts packets by a seeded
/// plan: each of its lanes in a FaultyLane.
class FaultEngine final : public ForwardingEngine {
 public:
  FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan);
  /// Sends what is on its way, as leave().
  ~FaultEngine() override;
  FaultEngine(const FaultEngine&) = delete;
  FaultEngine& operator=(const FaultEngine&) = delete;

  [[nodiscard]] EngineLane& lane(size_t index) override { return *lanes_[index]; }
  /// Packets that are still delayed are lost.
  void close_address(const Gid& local) override;
  Expected<uint16_t, EngineError> claim_source_port(const Gid& local, uint16_t wanted) override;
  /// The port stays until the packets have left that are on their way now: they may need it.
  void release_source_port(const Gid& local, uint16_t port) override;
  /// Sends what is on its way: a network would deliver it, whether its sender lives or not.
  void leave() override;
  /// What is on its way is the parent's to send.
  void abandon() override;
  [[nodiscard]] EngineCounters totals() const override;

 private:
  struct ReleasedPort {
    Instant last_packet;  ///< comes out of the delay lines then
    Gid local;
    uint16_t port;
  };

  void release_ports();

  std::vector<std::unique_ptr<FaultyLane>> lanes_;
  std::deque<ReleasedPort> released_ports_;
};

}  // namespace urxe
