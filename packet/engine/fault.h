// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "packet/engine/delay_line.h"
#include "packet/engine/fault_line.h"
#include "packet/engine/fault_plan.h"
#include "packet/engine/forwarding_engine.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Wraps an engine in a network that loses, duplicates, reorders and corrupts packets by a seeded
/// plan. Batches that nothing happens to, or that only lose packets, go on as they are, so that
/// what is measured is the transport; others go on as copies, packet by packet. A packet that is
/// held back waits for later ones, but no longer than until the next receive() that would return
/// nothing else; wait_fd() is readable meanwhile. A plan with a delay or a rate lets each packet
/// wait for its time; wait_fd() is readable when that has come. Without a descriptor for this,
/// packets go out when the caller does something for another reason.
class FaultEngine final : public ForwardingEngine {
 public:
  FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan);
  /// Sends what is on its way, as leave().
  ~FaultEngine() override;
  FaultEngine(const FaultEngine&) = delete;
  FaultEngine& operator=(const FaultEngine&) = delete;

  /// Returns packets that were held back if no others arrive. Sends those that were held back on
  /// their way out.
  std::span<const RxPacket> receive() override;
  void transmit(TxBatch& batch) override;
  /// The port stays until the packets have left that are on their way now: they may need it.
  void release_source_port(const Gid& local, uint16_t port) override;
  /// Sends what is on its way: a network would deliver it, whether its sender lives or not.
  void leave() override;
  /// What is on its way is the parent's to send.
  void abandon() override;
  [[nodiscard]] EngineCounters totals() const override;
  /// The inner engine's own if that is -1, or if no descriptors are left for another one.
  [[nodiscard]] int wait_fd() const override;

  [[nodiscard]] const FaultCounters& outgoing() const { return outgoing_.counters(); }
  [[nodiscard]] const FaultCounters& incoming() const { return incoming_.counters(); }

 private:
  struct ReleasedPort {
    Instant last_packet;  ///< comes out of the delay line then
    Gid local;
    uint16_t port;
  };

  bool draw(FaultLine& line, size_t size);
  void take_simple(std::span<const RxPacket> arrived);
  void take_copies(std::span<const RxPacket> arrived);
  void transmit_simple(TxBatch& batch);
  void transmit_copies(TxBatch& batch);
  void send(const std::deque<FaultLine::Packet>& packets);
  void send_delayed(std::deque<FaultLine::Packet> packets);
  void receive_delayed();
  std::deque<FaultLine::Packet> take_unsent();
  void send_rest();
  void release_ports();
  void set_timer();
  void open_wait_fd();
  void ring_while_holding_back();

  FileDescriptor bell_;   ///< readable while something is held back
  FileDescriptor timer_;  ///< readable from the time at which a delayed packet is due
  FileDescriptor wait_;   ///< readable while the inner engine's, the bell or the timer is
  bool ringing_ = false;
  FaultLine outgoing_;
  FaultLine incoming_;
  DelayLine outgoing_delay_;
  DelayLine incoming_delay_;
  std::optional<Instant> timer_time_;
  std::deque<ReleasedPort> released_ports_;
  TxBatch batch_;                       ///< of copies
  std::vector<FaultLine::Fate> fates_;  ///< of the packets at hand
  std::deque<FaultLine::Packet> received_;
  std::vector<RxPacket> packets_;
};

}  // namespace urxe
