// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/cluster/fabric.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// The address of a host of the cluster.
Gid node_gid(uint32_t host);
uint32_t node_of(const Gid& gid);

/// A host: a device, its link, and a program that keeps some messages posted on each of its queue
/// pairs. It takes no time to do anything: only links and the switch do.
class Node {
 public:
  /// Told of each message that is complete; `bad` if its completion has an error.
  using Complete = std::function<void(uint32_t flow, bool bad, Instant now)>;

  /// `memory` is written and read by all hosts: the bytes do not matter here (sim/ checks them).
  Node(const ClusterPlan& plan, uint32_t number, std::span<uint8_t> memory, Complete complete);

  /// A queue pair; returns its number. `flow` comes back with completions.
  Qpn add_queue_pair(uint32_t flow);
  void connect(Qpn qpn, uint32_t peer, Qpn peer_qpn, Instant now);
  /// Posts one message. `target` is the peer's region.
  void post(Qpn qpn, RKey target);
  [[nodiscard]] RKey rkey() const { return region_->rkey; }

  void receive(const CarriedPacket& packet, Instant now) { device_.receive(packet.view(), now); }
  /// Does what there is to do now: call it after receive() and post(), and at next().
  void drive(Fabric& fabric, Instant now);
  [[nodiscard]] std::optional<Instant> next() const { return next_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  bool transmit(Fabric& fabric, Instant now);
  void poll(Instant now);

  const ClusterPlan plan_;
  uint32_t number_;
  Complete complete_;
  Device device_;
  PdId pd_;
  CompletionQueue* cq_;
  MemoryRegion* region_;
  std::span<uint8_t> memory_;
  TxBatch batch_;
  std::vector<uint32_t> flows_;  ///< by the index of the queue pair
  std::optional<Instant> next_;
};

}  // namespace urxe::sim
