// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "tools/analyze/cm_exchanges.h"
#include "tools/analyze/held_packets.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {

struct Stream;

/// A stream whose requests the responses of another one may answer.
struct Candidate {
  Stream* stream = nullptr;
  uint32_t good = 0;  ///< responses that fit a request which was seen
};

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
  bool was_ambiguous = false;  ///< several streams could have had these responses
  bool alone = true;           ///< current, and without an opposite
  /// Whose requests the responses of this one may answer; nullopt: not known yet.
  std::optional<std::vector<Candidate>> candidates;
  HeldPackets held;  ///< while it is alone
  std::optional<PKey> pkey;
  bool pkey_reported = false;
};

/// The connections of a capture. They are told apart by addresses and queue pair numbers; a packet
/// does not name the queue pair that sends it, which must be found from the responses or from the
/// CM exchange. Until it is found packets are kept, within bounds, so that they can be looked at
/// again.
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
  static void take_corrupted(Stream& stream, const CorruptedPacket& packet);
  Stream* find_similar(const CorruptedPacket& packet);
  Stream& create(const Gid& source, const Gid& destination, Qpn dest_qp, Service service);
  void retire(Stream& stream);
  // Which streams belong together: connections_pairing.cc
  static void join(Stream& one, Stream& other);
  void marry(Stream& responses, Stream& requests);
  void hold(Stream& stream, const HeldPacket& packet);
  void release(Stream& stream);
  void look_again(Stream& one, Stream& other);
  static bool may_be_pair(const Stream& responses, const Stream& requests);
  void narrow(Stream& responses, const CapturedPacket& packet);
  void pair(Stream& responses, const CapturedPacket& packet);
  bool pair_what_is_left(bool by_order);
  static Stream* choose(const Stream& responses, uint32_t lead);
  static void check_pkey(Stream& stream, const CapturedPacket& packet, ViolationLog& log);

  std::deque<Stream> streams_;
  std::map<Key, Stream*> current_;
  /// Those without an opposite, by source and destination.
  std::map<Addresses, std::vector<Stream*>> alone_;
  size_t held_ = 0;  ///< packets, of all streams
};

}  // namespace urxe::analyze
