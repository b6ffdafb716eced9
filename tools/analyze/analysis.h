// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/analyze/capture_clock.h"
#include "tools/analyze/cm_exchanges.h"
#include "tools/analyze/connections.h"
#include "tools/analyze/violation.h"

namespace urxe::analyze {

/// What was counted of a capture as a whole.
struct CaptureCounts {
  static constexpr size_t kKeptFrames = 100;

  uint64_t frames = 0;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t roce = 0;       ///< UDP datagrams to port 4791
  uint64_t fragments = 0;  ///< of IP packets; not looked into
  uint64_t cut = 0;        ///< too short to be looked into
  uint64_t split = 0;      ///< datagrams that were several packets (see segments.h)
  uint64_t merged = 0;     ///< longer than any packet, but not whole, or of no known packets
  uint64_t bad_icrc = 0;
  uint64_t unchecked_icrc = 0;
  std::vector<uint64_t> bad_icrc_frames;  ///< the first ones
  uint64_t unknown_opcodes = 0;           ///< manufacturers' own, and such that nobody uses
  uint64_t cnps = 0;                      ///< congestion notifications
  uint64_t about_gaps = 0;                ///< urxe's GAP queries and reports
  uint64_t about_buffers = 0;             ///< urxe's DRAIN queries and answers
  uint64_t about_ports = 0;               ///< urxe's probes of port 4791
  uint64_t datagrams = 0;                 ///< UD, without those to QP1
  uint64_t datagram_bytes = 0;
  uint64_t multicast = 0;    ///< of the datagrams
  uint64_t gsi = 0;          ///< UD to QP1
  uint64_t clock_steps = 0;  ///< times that the clock stepped back
  int64_t stepped_ns = 0;    ///< by so much in all
};

/// Takes the frames of a capture one by one. Its memory grows with the number of connections.
class Analysis {
 public:
  void on_frame(const CapturedFrame& frame);
  /// The file could not be read to its end, because of `reason`.
  void note_unread(std::string reason) { unread_ = std::move(reason); }
  /// After the last frame.
  void finish() { connections_.finish(); }

  [[nodiscard]] const CaptureCounts& counts() const { return counts_; }
  [[nodiscard]] const Connections& connections() const { return connections_; }
  [[nodiscard]] const CmExchanges& cm() const { return cm_; }
  [[nodiscard]] const ViolationLog& violations() const { return violations_; }
  /// Why the file was not read to its end; empty: it was.
  [[nodiscard]] const std::string& unread() const { return unread_; }
  /// Violations, bad ICRCs, NAKs that are errors, or messages that were repeated in vain.
  [[nodiscard]] bool found_something() const;

 private:
  void on_steady_frame(const CapturedFrame& frame);
  void on_datagram(const CapturedFrame& frame, const Datagram& datagram);
  void on_single(const CapturedFrame& frame, const Datagram& datagram, IcrcVerdict verdict);
  void on_bad_icrc(const CapturedFrame& frame, const Datagram& datagram);
  void on_dropped(const CapturedFrame& frame, const Datagram& datagram, DropReason reason);
  void on_packet(const CapturedPacket& packet);
  void on_unconnected(const CapturedPacket& packet);

  CaptureCounts counts_;
  CaptureClock clock_;
  PacketDecoder decoder_;
  Connections connections_;
  CmExchanges cm_;
  ViolationLog violations_;
  std::string unread_;
};

}  // namespace urxe::analyze
