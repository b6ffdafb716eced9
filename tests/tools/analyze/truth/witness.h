// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <map>
#include <set>
#include <vector>

#include "tests/sim/simulation.h"
#include "tools/analyze/analysis.h"

namespace urxe::truth {

/// What really happened to the packets of one kind, requests or responses, on their way to a host.
struct Fates {
  uint64_t sent = 0;
  uint64_t arrived = 0;     ///< once or more, and intact or not
  uint64_t corrupted = 0;   ///< arrivals
  uint64_t duplicated = 0;  ///< arrivals but the first one of a packet
  uint64_t late = 0;  ///< first arrivals behind that of a packet sent later to the same queue pair

  [[nodiscard]] uint64_t lost() const { return sent - arrived; }
};

/// Watches a simulation: makes a capture at each of two hosts, gives it to an analysis, and keeps
/// account of what the network did, packet by packet.
class Witness : public sim::Tap {
 public:
  static constexpr size_t kHosts = 2;

  void on_sent(size_t host, const sim::Packet& packet, Instant now) override;
  void on_arrival(size_t host, const sim::Packet& packet, Instant now) override;
  void finish();

  [[nodiscard]] const analyze::Analysis& analysis(size_t host) const { return at(host).analysis; }
  /// Of the packets to this host. GAP Queries are requests here, GAP Reports responses.
  [[nodiscard]] const Fates& requests_to(size_t host) const { return at(host).fates[1]; }
  [[nodiscard]] const Fates& responses_to(size_t host) const { return at(host).fates[0]; }
  /// Writes the capture of a host as a pcap file.
  void save(size_t host, const std::string& path) const;

 private:
  struct Capture {
    analyze::Analysis analysis;
    std::array<Fates, 2> fates;
    uint64_t frames = 0;
    std::vector<std::pair<int64_t, std::vector<uint8_t>>> kept;
  };
  struct Sending {
    bool request = false;
    Qpn dest_qp;
  };
  void record(size_t host, const sim::Packet& packet, Instant now);
  [[nodiscard]] const Capture& at(size_t host) const { return captures_.at(host); }

  std::array<Capture, kHosts> captures_;
  std::map<uint64_t, Sending> sendings_;
  std::set<uint64_t> arrived_;
  std::map<std::pair<size_t, uint32_t>, uint64_t> newest_;  ///< that arrived, by queue pair
};

}  // namespace urxe::truth
