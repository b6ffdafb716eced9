// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "tests/sim/plan.h"
#include "tests/support/random.h"

namespace urxe::sim {

/// A packet on its way, as the receiving engine will hand it over.
struct Packet {
  std::vector<uint8_t> bytes;
  Flow flow;
  uint16_t identification = 0;
  bool corrupted = false;
  uint64_t sending = 0;  ///< counts up; the copies of a packet share it

  [[nodiscard]] RxPacket view() const { return {bytes, flow, identification}; }
};

/// Packets between hosts in virtual time: every host sends through one link of its own with a
/// queue, and what the plan draws happens to the packets there.
class Network {
 public:
  Network(const NetworkPlan& plan, size_t hosts, Random random);

  /// Faults happen until this is called.
  void end_faults() { faults_ = false; }
  /// No packet is lost for want of room from now on.
  void end_limits() { plan_.queue_bytes = 0; }

  enum class Fate : uint8_t { kSent, kLost, kQueueFull, kDuplicated, kCorrupted };
  /// Takes a packet from host `from` for host `to`.
  Fate send(size_t from, size_t to, Packet packet, Instant now);

  struct Arrival {
    Instant at;
    uint64_t order = 0;  ///< of sending: arrivals at one instant keep it
    size_t host = 0;
    Packet packet;
  };
  [[nodiscard]] std::optional<Instant> next_arrival() const;
  /// The first packet to arrive. Only where next_arrival() has a value.
  Arrival take();

 private:
  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  struct Link {
    Instant free_at{};  ///< when the last byte queued has left
    uint32_t burst_left = 0;
  };
  bool is_lost(Link& link);
  void corrupt(Packet& packet);
  void deliver(size_t to, Packet packet, Instant at);

  NetworkPlan plan_;
  Random random_;
  std::vector<Link> links_;
  std::vector<Arrival> heap_;
  uint64_t order_ = 0;
  bool faults_ = true;
};

}  // namespace urxe::sim
