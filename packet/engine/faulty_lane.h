// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "packet/engine/delay_line.h"
#include "packet/engine/fault_line.h"
#include "packet/engine/fault_plan.h"
#include "packet/engine/forwarding_engine.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// A lane of a FaultEngine. Batches that nothing happens to, or that only lose packets, go on as
/// they are, so that what is measured is the transport; others go on as copies, packet by packet. A
/// packet that is held back waits for later ones, but no longer than until the next receive() that
/// would return nothing else; wait_fd() is readable meanwhile. A plan with a delay or a rate lets
/// each packet wait for its time; wait_fd() is readable when that has come. Without a descriptor
/// for this, packets go out when the caller does something for another reason.
class FaultyLane final : public ForwardingLane {
 public:
  /// `limits`: of the batches that the inner lane takes. `index`: of the lane; each draws other
  /// faults. `sent_delayed` is called whenever delayed packets have been sent.
  FaultyLane(EngineLane& inner, const TxBatch::Limits& limits, const FaultPlan& plan, size_t index,
             std::function<void()> sent_delayed);

  /// Returns packets that were held back if no others arrive. Sends those that were held back on
  /// their way out.
  std::span<const RxPacket> receive() override;
  /// Refuses the batch while copies of earlier packets find no room.
  size_t transmit(TxBatch& batch) override;
  [[nodiscard]] bool has_unsent() const override { return has_left() || inner_lane().has_unsent(); }
  /// The inner lane's own if that is -1, or if no descriptors are left for another one.
  [[nodiscard]] int wait_fd() const override;

  [[nodiscard]] const FaultCounters& outgoing() const { return outgoing_.counters(); }
  [[nodiscard]] const FaultCounters& incoming() const { return incoming_.counters(); }

  // For the control, while nobody uses the lane:

  /// Sends what waits to be overtaken, or puts it into the delay line.
  void send_held_back();
  /// When the next packet that is on its way out leaves, and the last one; nullopt: none is.
  [[nodiscard]] std::optional<Instant> next_due() const;
  [[nodiscard]] std::optional<Instant> last_due() const;
  /// Sends what is on its way out, whatever the time. What finds no room is lost.
  void send_rest();
  /// Forgets it.
  void forget_rest();

 private:
  bool draw(FaultLine& line, size_t size);
  void take_simple(std::span<const RxPacket> arrived);
  void take_copies(std::span<const RxPacket> arrived);
  void draw_and_send(TxBatch& batch);
  void pass_on(TxBatch& batch);
  void transmit_simple(TxBatch& batch);
  void transmit_copies(TxBatch& batch);
  void send(std::deque<FaultLine::Packet> packets);
  [[nodiscard]] bool has_left() const { return !batch_.empty() || !left_.empty(); }
  [[nodiscard]] bool send_left();
  void flush_outgoing();
  void send_delayed(std::deque<FaultLine::Packet> packets);
  void receive_delayed();
  void set_timer();
  void open_wait_fd();
  void ring_while_holding_back();

  FileDescriptor bell_;   ///< readable while something is held back
  FileDescriptor timer_;  ///< readable from the time at which a delayed packet is due
  FileDescriptor wait_;   ///< readable while the inner lane's, the bell or the timer is
  bool ringing_ = false;
  FaultLine outgoing_;
  FaultLine incoming_;
  DelayLine outgoing_delay_;
  DelayLine incoming_delay_;
  std::function<void()> sent_delayed_;
  std::optional<Instant> timer_time_;
  TxBatch batch_;                       ///< of copies, or what is left of it
  std::deque<FaultLine::Packet> left_;  ///< copies that go out after it
  bool is_drawn_ = false;  ///< the caller's batch has its faults, and waits for the inner lane
  std::vector<FaultLine::Fate> fates_;  ///< of the packets at hand
  std::deque<FaultLine::Packet> received_;
  std::vector<RxPacket> packets_;
};

}  // namespace urxe
