// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tools/analyze/cm_exchanges.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {

/// All packets from one address to one queue pair: its peer's requests, and the responses to its
/// own. Two of them make a connection.
struct Stream {
  Gid source;
  Gid destination;
  Qpn dest_qp;
  Service service = Service::kRc;
  RequestFlow requests;
  Stream* opposite = nullptr;  ///< null: not known which queue pair sends these packets
  bool from_cm = false;        ///< the CM exchange says so; else PSNs do
  uint64_t unmatched_responses = 0;
  std::optional<PKey> pkey;
  bool pkey_reported = false;
};

/// The connections of a capture. They are told apart by addresses and queue pair numbers; a packet
/// does not name the queue pair that sends it, which must be found from the responses' PSNs or from
/// the CM exchange.
class Connections {
 public:
  /// Takes a packet of the services RC, UC and XRC.
  void on_packet(const CapturedPacket& packet, ViolationLog& log);
  /// Takes a GAP Query or a GAP Report of urxe, which belongs to a connection that is known.
  void on_gap_packet(const CapturedPacket& packet);
  /// Takes a packet with a wrong ICRC, whatever it is.
  void on_corrupted(const CorruptedPacket& packet);
  /// Both ends are known from now on; what came before on their queue pairs was another connection.
  void on_established(const CmExchange& exchange);
  void finish();
  /// In the order in which they began.
  [[nodiscard]] const std::deque<Stream>& streams() const { return streams_; }

 private:
  struct Key {
    std::array<uint8_t, 16> source;
    std::array<uint8_t, 16> destination;
    uint32_t dest_qp;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Addresses = std::pair<std::array<uint8_t, 16>, std::array<uint8_t, 16>>;

  Stream& find(const CapturedPacket& packet);
  Stream* find_similar(const CorruptedPacket& packet);
  Stream& create(const Gid& source, const Gid& destination, Qpn dest_qp, Service service);
  void retire(Stream& stream);
  static void join(Stream& one, Stream& other);
  void pair(Stream& responses, Psn psn);
  static void check_pkey(Stream& stream, const CapturedPacket& packet, ViolationLog& log);

  std::deque<Stream> streams_;
  std::map<Key, Stream*> current_;
  /// Those without an opposite, by source and destination.
  std::map<Addresses, std::vector<Stream*>> alone_;
};

}  // namespace urxe::analyze
