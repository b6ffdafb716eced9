// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/memory.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/random.h"
#include "tests/sim/side.h"
#include "transport/device.h"

namespace urxe::sim {

/// One device, its memory, its receive buffer and whoever drives it: in the order that device.h
/// asks for, but otherwise as irregularly as the plan says.
class Host {
 public:
  /// What leaves the device; `index` is the host's.
  using Transmit = std::function<void(size_t index, Packet packet, Instant now)>;
  /// What the device is given, before it is.
  using Observe = std::function<void(size_t index, const Packet& packet)>;

  Host(const Plan& plan, size_t index, const Gid& gid, Random random, Transmit transmit,
       Observe observe);

  QueuePair& create_qp(Qpn qpn);
  Side& add_side(QueuePair& qp);
  void create_shared_counter();

  /// False: the receive buffer is full.
  bool arrive(Packet packet, Instant now);
  /// When drive() is to be called next.
  [[nodiscard]] std::optional<Instant> wake_time() const { return wake_; }
  void drive(Instant now);
  void wake_at(Instant time);

  /// Faults are over: drives as soon as there is something to do, receives always posted.
  void calm_down();

  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] const Gid& gid() const { return gid_; }
  [[nodiscard]] Memory& memory() { return memory_; }
  [[nodiscard]] std::deque<Side>& sides() { return sides_; }
  [[nodiscard]] SharedCounter* shared_counter() { return &counter_; }
  [[nodiscard]] bool idle() const;
  [[nodiscard]] uint64_t digest() const { return digest_; }
  void check_end();

 private:
  bool receive_some(Instant now);
  bool transmit_some(Instant now);
  void emit(const TxBatch& batch, Instant now);
  void take_events();
  void run_application();
  bool poll(CompletionQueue& cq);
  CompletionQueue* new_cq();
  Side& side_of(uint32_t qpn);
  void schedule(Instant now, bool more);

  const Plan& plan_;
  size_t index_;
  Gid gid_;
  Random random_;
  Transmit transmit_;
  Observe observe_;
  Memory memory_;
  Device device_;
  PdId pd_;
  TxBatch batch_;
  std::vector<CompletionQueue*> cqs_;
  std::vector<CompletionQueue*> to_poll_;
  std::deque<Side> sides_;
  SharedCounter counter_;

  std::deque<Packet> inbox_;
  size_t inbox_bytes_ = 0;
  std::optional<Instant> wake_;
  Instant asleep_until_{};
  bool calm_ = false;
  uint64_t digest_ = 0;
};

}  // namespace urxe::sim
