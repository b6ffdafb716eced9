// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/memory.h"
#include "tests/sim/network.h"
#include "tests/sim/plan.h"
#include "tests/sim/receive_pool.h"
#include "tests/sim/shared_receives.h"
#include "tests/sim/side.h"
#include "tests/sim/uc_side.h"
#include "tests/sim/ud_side.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// One device, its memory, its receive buffer and whoever drives it: in the order that device.h
/// asks for, but otherwise as irregularly as the plan says.
class Host {
 public:
  static constexpr uint32_t kXrcQueues = 2;  ///< shared receive queues

  /// What leaves the device; `index` is the host's.
  using Transmit = std::function<void(size_t index, const Packet& packet, Instant now)>;
  /// What the device is given, before it is.
  using Observe = std::function<void(size_t index, const Packet& packet)>;

  /// `gids`: of the primary path and of the alternate one.
  Host(const Plan& plan, size_t index, std::array<Gid, 2> gids, Random random, Transmit transmit,
       Observe observe);

  QueuePair& create_qp(Qpn qpn, ibv_qp_type type);
  // What drives a queue pair in RTS, by its type.
  Side& add_side(QueuePair& qp);
  Side& add_xrc_side(QueuePair& initiator, QueuePair& target);
  UcSide& add_uc_side(QueuePair& qp);
  UdSide& add_ud_side(QueuePair& qp);
  void create_shared_counter();

  /// False: the receive buffer is full.
  bool arrive(Packet packet, Instant now);
  /// When drive() is to be called next.
  [[nodiscard]] std::optional<Instant> wake_time() const { return wake_; }
  void drive(Instant now);
  void wake_at(Instant time);

  void post_receives();
  /// Faults are over: drives as soon as there is something to do, receives always posted.
  void calm_down();
  /// Nothing is on its way, or lost from now on: see Endpoint::post_last.
  void post_last();
  /// All queue pairs to the error state.
  void flush(Instant now);

  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] const Gid& gid() const { return gids_[0]; }
  [[nodiscard]] const Gid& alternate_gid() const { return gids_[1]; }
  [[nodiscard]] bool has(const Gid& gid) const { return gid == gids_[0] || gid == gids_[1]; }
  void on_cut();
  [[nodiscard]] Memory& memory() { return memory_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Endpoint>>& endpoints() const {
    return endpoints_;
  }
  [[nodiscard]] SharedCounter* shared_counter() { return &counter_; }
  [[nodiscard]] bool idle() const;
  [[nodiscard]] uint64_t digest() const { return digest_; }
  [[nodiscard]] uint64_t completions() const { return completions_; }
  void check_end();
  /// All receives have come back after flush(), and the last one of each queue pair was told of.
  void check_flushed() const;

 private:
  bool receive_some(Instant now);
  bool transmit_some(Instant now);
  void emit(const TxBatch& batch, Instant now);
  void take_events();
  void run_application(Instant now);
  bool poll(CompletionQueue& cq);
  CompletionQueue* new_cq();
  Endpoint& endpoint_of(uint32_t qpn);
  void create_shared_receives();
  QpInit qp_init(Qpn qpn, ibv_qp_type type);
  ReceivePool& pool_of(QueuePair& qp, uint32_t bytes);
  template <class Kind, class... Arguments>
  Kind& add(Arguments&&... arguments);
  void on_event(const AsyncEvent& event);
  void schedule(Instant now, bool more);

  const Plan& plan_;
  size_t index_;
  std::array<Gid, 2> gids_;
  Random random_;
  Transmit transmit_;
  Observe observe_;
  Memory memory_;
  Device device_;
  PdId pd_;
  TxBatch batch_;
  std::vector<CompletionQueue*> cqs_;
  std::vector<CompletionQueue*> to_poll_;
  std::deque<ReceivePool> pools_;               ///< of queue pairs' own receive queues
  std::deque<SharedReceives> shared_receives_;  ///< a basic one, then those of XRC
  XrcDomain* domain_ = nullptr;
  std::vector<QueuePair*> qps_;
  std::set<uint32_t> migrated_;                   ///< queue pair numbers, by the events
  std::map<uint32_t, uint32_t> last_wqe_events_;  ///< by queue pair number
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  SharedCounter counter_;

  std::deque<Packet> inbox_;
  size_t inbox_bytes_ = 0;
  std::optional<Instant> wake_;
  Instant asleep_until_{};
  bool calm_ = false;
  bool unlimited_ = false;  ///< the receive buffer
  uint64_t completions_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace urxe::sim
