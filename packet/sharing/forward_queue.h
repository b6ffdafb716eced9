// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "packet/base/time.h"
#include "packet/sharing/forwarding.h"
#include "packet/sharing/sharing_counters.h"

namespace urxe {

/// Passes packets on to this host's other processes, by the names of their unix sockets, in the
/// order in which they came. The kernel lets few datagrams wait at a unix socket
/// (net.unix.max_dgram_qlen, 10 in a new network namespace): what finds it full is kept, within
/// bounds, and tried again.
class ForwardQueue {
 public:
  static constexpr size_t kMaxWaiting = 4096;  ///< datagrams
  static constexpr size_t kMaxWaitingBytes = 8 << 20;
  static constexpr Duration kMaxWait = seconds(1);

  /// `from_fd` and `counters` outlive this.
  ForwardQueue(int from_fd, SharingCounters& counters) : from_fd_(from_fd), counters_(counters) {}

  /// False: nobody has the name. What can neither be sent nor kept is lost, and counted.
  bool send(const UnixName& to, const PacketRun& packets, Instant now);

  [[nodiscard]] bool has_waiting() const { return !waiting_.empty(); }
  [[nodiscard]] size_t size() const { return waiting_.size(); }
  /// Sends what can be sent by now; loses what has waited for too long.
  void retry(Instant now);
  /// Forgets what waits.
  void clear();

 private:
  struct Waiting {
    UnixName to;
    Flow flow;
    size_t segment_size;
    std::vector<uint8_t> bytes;
    Instant since;
  };
  bool keep(const UnixName& to, const PacketRun& packets, Instant now);

  int from_fd_;
  SharingCounters& counters_;
  std::deque<Waiting> waiting_;  ///< oldest first
  std::vector<UnixName> full_;   ///< for whom something waits, each once
  size_t waiting_bytes_ = 0;
};

}  // namespace urxe
