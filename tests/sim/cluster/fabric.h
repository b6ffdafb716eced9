// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "tests/sim/cluster/plan.h"
#include "tests/sim/cluster/time_series.h"
#include "tests/support/random.h"

namespace urxe::sim {

/// A packet on its way.
struct CarriedPacket {
  std::vector<uint8_t> bytes;
  Flow flow;
  uint32_t to = 0;  ///< the host
  [[nodiscard]] RxPacket view() const { return {bytes, flow, 0, false}; }
};

/// The links and the switch. A host's link carries one packet after the other at the link's rate;
/// so does each port of the switch, where packets wait, are marked, and are dropped when too many
/// wait. Packets are handled by number, and their memory is used again.
class Fabric {
 public:
  explicit Fabric(const ClusterPlan& plan);

  struct Arrival {
    Instant at;
    uint64_t order;
    uint32_t packet;
    bool at_host;  ///< false: at the switch
  };

  /// A host hands a packet to its link. Copies the bytes.
  void send(uint32_t from, uint32_t to, const Flow& flow, std::span<const uint8_t> bytes,
            Instant now);
  /// Bytes that wait for a host's link.
  [[nodiscard]] uint64_t backlog(uint32_t host, Instant now) const;
  /// When no more than `bytes` will wait there.
  [[nodiscard]] Instant when_backlog_is(uint32_t host, uint64_t bytes) const;

  [[nodiscard]] std::optional<Instant> next() const;
  /// Takes what happens next in the fabric. The number of a packet that has reached its host; its
  /// receiver calls done() with it. nullopt: it is at the switch now, or lost.
  std::optional<uint32_t> step();
  [[nodiscard]] const CarriedPacket& packet(uint32_t number) const { return packets_[number]; }
  void done(uint32_t number) { free_.push_back(number); }

  struct Totals {
    uint64_t packets = 0;
    uint64_t dropped = 0;  ///< at full ports
    uint64_t lost = 0;     ///< by links
    uint64_t marked = 0;
    uint64_t deepest = 0;  ///< bytes that waited at one port
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// The deepest queue of a port.
  [[nodiscard]] const TimeSeries& depth() const { return depth_; }

 private:
  struct Link {
    Instant free_at{};
  };
  struct Later {
    bool operator()(const Arrival& a, const Arrival& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };

  [[nodiscard]] Duration time_for(uint64_t bytes) const;
  [[nodiscard]] uint64_t waiting(const Link& link, Instant now) const;
  /// When the packet has left the link.
  Instant carry(Link& link, size_t bytes, Instant now) const;
  void arrive(uint32_t number, Instant at, bool at_host);
  bool at_switch(uint32_t number, Instant now);
  uint32_t new_packet();

  const ClusterPlan plan_;
  Random random_;
  std::vector<Link> up_;    ///< by host, to the switch
  std::vector<Link> down_;  ///< by host, from the switch
  std::vector<CarriedPacket> packets_;
  std::vector<uint32_t> free_;
  std::vector<Arrival> heap_;
  uint64_t order_ = 0;
  Totals totals_;
  TimeSeries depth_{TimeSeries::Kind::kMaximum};
};

}  // namespace urxe::sim
