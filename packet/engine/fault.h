// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "packet/engine/fault_plan.h"
#include "packet/engine/forwarding_engine.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// One direction of a bad line.
class FaultLine {
 public:
  static constexpr uint32_t kMaxHeldBack = 8;

  struct Packet {
    std::vector<uint8_t> bytes;
    Flow flow;
    std::optional<uint16_t> identification;
  };

  FaultLine(uint64_t seed, const FaultRates& rates) : state_(seed), rates_(rates) {}
  /// Appends to `out` what comes out at the other end when `packet` goes in. Of a packet that is
  /// duplicated, one of the two is never corrupted.
  void pass(Packet packet, std::deque<Packet>& out);
  /// Appends what is held back: nothing comes that could overtake it.
  void flush(std::deque<Packet>& out);
  [[nodiscard]] bool holds_back() const { return !held_.empty(); }
  [[nodiscard]] const FaultCounters& counters() const { return counters_; }

 private:
  struct Held {
    Packet packet;
    uint32_t passes_left;
  };
  uint64_t random();
  bool happens(uint32_t per_million);
  void flip_a_bit(Packet& packet);
  void let_overtake(std::deque<Packet>& out);

  uint64_t state_;
  FaultRates rates_;
  std::vector<Held> held_;
  FaultCounters counters_;
};

/// Wraps an engine in a network that loses, duplicates, reorders and corrupts packets by a seeded
/// plan. Sends without segmentation. What it holds back waits for later packets, but no longer than
/// until the next receive() that has nothing else, for which wait_fd() wakes.
class FaultEngine final : public ForwardingEngine {
 public:
  FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan);

  /// Where nothing arrives, what was held back comes. Sends what was held back on its way out.
  std::span<const RxPacket> receive() override;
  void transmit(TxBatch& batch) override;
  [[nodiscard]] TxBatch::Limits batch_limits() const override;
  [[nodiscard]] EngineCounters totals() const override;
  /// The inner engine's where it has none, or no descriptors are left to make ours.
  [[nodiscard]] int wait_fd() const override;

  [[nodiscard]] const FaultCounters& outgoing() const { return outgoing_.counters(); }
  [[nodiscard]] const FaultCounters& incoming() const { return incoming_.counters(); }

 private:
  void send(const std::deque<FaultLine::Packet>& packets);
  void open_wait_fd();
  void ring_while_holding_back();

  FileDescriptor bell_;  ///< readable while something is held back
  FileDescriptor wait_;  ///< on the inner engine's and the bell
  bool ringing_ = false;
  FaultLine outgoing_;
  FaultLine incoming_;
  TxBatch batch_;
  std::deque<FaultLine::Packet> received_;
  std::vector<RxPacket> packets_;
};

}  // namespace urxe
