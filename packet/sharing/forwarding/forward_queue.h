// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "packet/base/time.h"
#include "packet/sharing/forwarding/forwarding.h"
#include "packet/sharing/sharing_counters.h"

namespace urxe {

/// Forwards packets to the unix sockets of other processes, in the order in which they came. The
/// kernel lets few datagrams wait at a unix socket (net.unix.max_dgram_qlen, 10 in a new network
/// namespace), so the queue keeps packets that find the socket full and tries again. It is bounded
/// in datagrams, bytes and time; packets beyond the bounds are lost and counted.
class ForwardQueue {
 public:
  static constexpr size_t kMaxWaiting = 4096;  ///< datagrams
  static constexpr size_t kMaxWaitingBytes = 8 << 20;
  static constexpr Duration kMaxWait = seconds(1);

  /// `from_fd` and `counters` outlive this.
  ForwardQueue(int from_fd, SharingCounters& counters) : from_fd_(from_fd), counters_(counters) {}

  /// Returns false, and does nothing, if no socket is bound to `to`.
  bool send(const UnixName& to, const PacketRun& packets, Instant now);

  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  [[nodiscard]] size_t size() const { return waiting_.size(); }
  /// Sends as much as there is room for. Packets that have waited for kMaxWait are lost.
  void retry(Instant now);
  /// Drops all waiting packets.
  void clear();

 private:
  struct Waiting {
    UnixName to;
    Flow flow;
    size_t segment_size;
    std::vector<uint8_t> bytes;
    bool is_start;
    Instant since;
  };
  bool keep(const UnixName& to, const PacketRun& packets, Instant now);

  int from_fd_;
  SharingCounters& counters_;
  std::deque<Waiting> waiting_;  ///< oldest first
  /// Those that packets wait for are in it, each once; others perhaps, too.
  std::vector<UnixName> full_;
  size_t waiting_bytes_ = 0;
};

}  // namespace urxe
