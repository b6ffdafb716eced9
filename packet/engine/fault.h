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
  /// Puts `packet` in and appends to `out` the packets that come out at the other end. One copy of
  /// a duplicated packet is never corrupted.
  void pass(Packet packet, std::deque<Packet>& out);
  /// Appends all packets that are held back: no later packet is going to overtake them.
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
/// plan. Sends without segmentation. A packet that is held back waits for later ones, but no longer
/// than until the next receive() that would return nothing else; wait_fd() is readable meanwhile.
class FaultEngine final : public ForwardingEngine {
 public:
  FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan);

  /// Returns packets that were held back if no others arrive. Sends those that were held back on
  /// their way out.
  std::span<const RxPacket> receive() override;
  void transmit(TxBatch& batch) override;
  [[nodiscard]] TxBatch::Limits batch_limits() const override;
  [[nodiscard]] EngineCounters totals() const override;
  /// The inner engine's own if that is -1, or if no descriptors are left for another one.
  [[nodiscard]] int wait_fd() const override;

  [[nodiscard]] const FaultCounters& outgoing() const { return outgoing_.counters(); }
  [[nodiscard]] const FaultCounters& incoming() const { return incoming_.counters(); }

 private:
  void send(const std::deque<FaultLine::Packet>& packets);
  void open_wait_fd();
  void ring_while_holding_back();

  FileDescriptor bell_;  ///< readable while something is held back
  FileDescriptor wait_;  ///< readable while the inner engine's or the bell is
  bool ringing_ = false;
  FaultLine outgoing_;
  FaultLine incoming_;
  TxBatch batch_;
  std::deque<FaultLine::Packet> received_;
  std::vector<RxPacket> packets_;
};

}  // namespace urxe
