// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/sim/connect.h"
#include "tests/sim/network.h"
#include "tests/sim/posting.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::test {

/// Two devices in virtual time with one pair of queue pairs, over a network that loses, duplicates,
/// reorders and corrupts packets. Side 0 posts requests to side 1.
class TroubledWorld {
 public:
  TroubledWorld(uint64_t seed, ibv_qp_type type);

  /// RESET to RTS on both sides, with new PSNs; what is on its way of the last connection arrives
  /// in the new one.
  void connect();
  /// A request of the kind with random length, to a random place; its number is the wr_id.
  sim::SendRequest draw();
  /// Posts it. WRITEs and SENDs carry bytes that no other request has.
  void post(const sim::SendRequest& request);
  /// Posts `count` receives of 16 KiB at side 1.
  void post_receives(int count);
  /// Until `done()`. False: nothing happens any more, or for a minute of virtual time.
  bool run_until(const std::function<bool()>& done);
  void run_for(Duration duration);
  /// Completions of side 0 so far.
  std::vector<ibv_wc> completions;
  /// Asynchronous events by side, and those that are not taken.
  std::vector<ibv_event_type> events[2];

  int move(int side, ibv_qp_state state);
  Device& device(int side) { return hosts_[side]->device; }
  QueuePair& qp(int side) { return *hosts_[side]->qp; }
  void deregister_remote();
  void register_remote();
  /// Whether the bytes that the request was to write are where they belong, or what it was to read
  /// is here.
  [[nodiscard]] bool is_executed(const sim::SendRequest& request) const;
  [[nodiscard]] uint64_t sent_packets(int side) const {
    return hosts_[side]->device.counters().sent_packets;
  }

  static constexpr uint32_t kMost = 6000;  ///< bytes of a request
  static constexpr uint32_t kSlots = 64;   ///< requests with a place of their own
  static constexpr uint32_t kDepth = 64;   ///< of the send queue

  Random random;

 private:
  struct Host {
    Host(int side, ibv_qp_type type, std::vector<uint8_t>& memory);
    Device device;
    TxBatch batch{TxBatch::Limits{}};
    PdId pd;
    CompletionQueue* cq = nullptr;
    MemoryRegion* region = nullptr;
    QueuePair* qp = nullptr;
    std::deque<sim::Packet> inbox;
  };
  void drive(int side);
  bool step(Instant until);
  [[nodiscard]] std::optional<Instant> next_event() const;

  ibv_qp_type type_;
  std::vector<uint8_t> memory_[2];
  std::unique_ptr<Host> hosts_[2];
  sim::Network network_;
  Instant now_{1'000'000'000};
  uint64_t next_wr_id_ = 0;
};

}  // namespace urxe::test
