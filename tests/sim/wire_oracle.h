// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "packet/wire/roce_packet.h"
#include "tests/sim/pacing_oracle.h"

namespace urxe::sim {

/// An observer of the wire that knows nothing of the devices: it reads every packet
/// that a side sends and every packet that a side takes, and fails on what the specification
/// forbids. Requests of one side and the answers to them are one Direction.
class WireOracle {
 public:
  struct Limits {
    Psn start;         ///< first request PSN
    uint32_t mtu = 0;  ///< bytes
    uint32_t max_rd_atomic = 0;
  };
  /// Says what the queue pair `qpn` of `host`, whose peer is (`peer_host`, `peer_qpn`), may send.
  void add(size_t host, uint32_t qpn, size_t peer_host, uint32_t peer_qpn, const Limits& limits);

  /// The same of a UD queue pair, which may send to anybody.
  void add_datagrams(size_t host, uint32_t qpn, Psn start);

  /// The rate limit of a queue pair.
  void limit_rate(size_t host, uint32_t qpn, uint32_t rate_kbps, uint32_t max_burst) {
    pacing_.limit({host, qpn}, rate_kbps, max_burst);
  }

  /// The device of `host` emitted this packet, an IP datagram of `bytes`, to `destination_host`.
  void on_sent(size_t host, size_t destination_host, const PacketView& packet, size_t bytes,
               Instant now);
  /// A device was given this packet (its ICRC is right).
  void on_received(size_t host, const PacketView& packet);

  [[nodiscard]] uint64_t retransmissions() const { return retransmissions_; }

 private:
  struct Request {
    uint32_t first = 0;  ///< PSN, counted from the direction's start
    uint32_t packets = 1;
    Opcode opcode;
    uint32_t length = 0;  ///< of a READ; else of the packet
    uint64_t digest = 0;
    uint64_t va = 0;
    Msn messages;                  ///< messages that end with or before it
    std::set<uint32_t> part_ends;  ///< READ: the last responses of parts that were asked for
    bool answered = false;         ///< READ, atomic: the requester has been given the last response
  };
  struct Direction {
    Limits limits;
    std::vector<Request> requests;
    std::vector<uint32_t> request_of;  ///< by PSN counted from the start
    Msn messages;
    bool in_message = false;  ///< the LAST of the current one has not been sent
    uint32_t unanswered = 0;
    uint32_t taken = 0;     ///< PSNs that the responder has been given, the largest + 1
    uint32_t answered = 0;  ///< PSNs that the requester knows to be executed
  };
  using Key = PacingOracle::Key;
  struct Side {
    Key peer;
    Direction direction;
  };

  Side& side_of(Key key);
  void datagram_sent(size_t host, const PacketView& packet);
  void request_sent(Direction& direction, const PacketView& packet);
  static void check_message(Direction& direction, const PacketView& packet);
  void new_request(Direction& direction, const PacketView& packet);
  void repeated_request(Direction& direction, const PacketView& packet, uint32_t distance);
  static void gap_reported(const Direction& direction, const PacketView& packet);
  void response_sent(const Direction& direction, const PacketView& packet);
  void read_response_sent(const Direction& direction, const PacketView& packet,
                          const Request& request, uint32_t distance);
  static void acknowledge_sent(const Direction& direction, const PacketView& packet,
                               const Request& request);

  std::map<Key, Side> sides_;
  PacingOracle pacing_;
  std::map<Key, Psn> next_datagram_;  ///< PSN
  uint64_t retransmissions_ = 0;
};

}  // namespace urxe::sim
