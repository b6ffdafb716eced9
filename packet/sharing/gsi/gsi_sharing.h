// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "packet/base/time.h"
#include "packet/sharing/forwarding/forward_queue.h"
#include "packet/sharing/forwarding/packet_owner.h"
#include "packet/sharing/gsi/service_directory.h"
#include "packet/sharing/sharing_counters.h"
#include "packet/wire/cm/cm_message.h"

namespace urxe {

/// Decides which process gets a packet to QP1 of a shared address, and forwards it. QP1 belongs to
/// all processes of the user: the kernel may give such a packet to any of them.
///
/// - A request for a service goes to the process that listens for it; see ServiceDirectory.
/// - A request for a management agent goes to the process that has it. Without one it stays here,
///   and is dropped: nobody refuses it, so its sender asks again.
/// - Any other message goes to the slot in the communication id that it answers.
/// - A message that no other process takes stays here, and the connection manager of this process
///   replies to it (no such service, no such communication).
///
/// A request for a service without a listener waits for a short time first: a server is often just
/// about to listen when its client connects, and "no such service" is final for the client. It is
/// looked at again when some process begins to listen.
class GsiSharing {
 public:
  /// Requests that wait for a listener; the kernel may have joined several to one datagram. Further
  /// ones stay here at once.
  static constexpr size_t kMaxUnclaimed = 1024;
  /// Of them, those of one source (source_network()). Further ones are lost, so that a flood costs
  /// only the reading; an honest sender repeats its request.
  static constexpr size_t kMaxUnclaimedOfOne = 256;
  static constexpr Duration kMaxUnclaimedWait = milliseconds(100);
  static constexpr uint32_t kMaxToEveryone = 8;  ///< a second; further ones stay here only

  /// `queue`, which sends the packets, `counters` and the slot's directory outlive this.
  GsiSharing(const SharingDirectory& directory, uint32_t own_slot, uint32_t interface_index,
             ForwardQueue& queue, SharingCounters& counters)
      : sockets_(directory),
        own_slot_(own_slot),
        directory_(directory, own_slot, interface_index),
        queue_(queue),
        counters_(counters) {}

  /// The services that processes listen for, and the socket of this process for its own.
  [[nodiscard]] ServiceDirectory& directory() { return directory_; }

  /// Forwards packets that all have the owner `owner`, as gsi_owner() determined. Returns true if
  /// they are (also) for this process.
  [[nodiscard]] bool pass_on(const GsiOwner& owner, const PacketRun& packets, Instant now);

  /// Packets that waited here and turned out to be this process's.
  struct Returned {
    Flow flow;
    size_t segment_size;
    std::vector<uint8_t> bytes;
    [[nodiscard]] PacketRun run() const { return {flow, segment_size, bytes}; }
  };

  /// Whether requests wait for a listener: call retry() now and then.
  [[nodiscard]] bool has_waiting() const { return !unclaimed_.empty(); }
  /// Passes on those that have a listener now. Returns the requests that are this process's from
  /// now on: it listens, or they have waited long enough.
  std::vector<Returned> retry(Instant now);

 private:
  struct Unclaimed {
    ServiceId service;
    Returned request;
    Instant since;
    uint32_t changes;  ///< of the directory, before the last look for a listener
  };
  enum class Service : uint8_t { kOurs, kPassedOn, kNobody };
  /// True: the request is this process's.
  bool pass_request(ServiceId service, const PacketRun& packets, Instant now);
  Service pass_to_service(ServiceId service, const PacketRun& packets, Instant now);
  [[nodiscard]] size_t unclaimed_of(const Gid& source) const;
  void pass_to_everyone(const PacketRun& packets, Instant now);

  const SharingDirectory& sockets_;
  uint32_t own_slot_;
  ServiceDirectory directory_;
  ForwardQueue& queue_;
  SharingCounters& counters_;
  std::deque<Unclaimed> unclaimed_;  ///< oldest first
  size_t unclaimed_packets_ = 0;
  Instant second_{};  ///< begin of the second that to_everyone_ counts in
  uint32_t to_everyone_ = 0;
};

}  // namespace urxe
