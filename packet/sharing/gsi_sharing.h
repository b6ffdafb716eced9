// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "packet/base/time.h"
#include "packet/sharing/forward_queue.h"
#include "packet/sharing/packet_owner.h"
#include "packet/sharing/service_directory.h"
#include "packet/sharing/sharing_counters.h"
#include "packet/wire/cm_message.h"

namespace urxe {

/// QP1 of an interface's addresses, which processes of one user share. Whoever receives a request
/// for a service passes it on to a unix datagram socket of the process that listens for it (see
/// ServiceDirectory); all other messages go to the slot that is in the communication id they
/// answer. What nobody else wants stays with the process that has received it, which answers what
/// is to be answered: no such service, no such communication.
///
/// A request that nobody listens for is kept and tried again, within bounds: a server is often
/// about to listen when its client learns that it may connect, and no such service is a final
/// answer.
class GsiSharing {
 public:
  /// Requests that nobody listens for; what is beyond stays here at once.
  static constexpr size_t kMaxUnclaimed = 1024;
  static constexpr Duration kMaxUnclaimedWait = milliseconds(100);
  static constexpr uint32_t kMaxToEveryone = 8;  ///< a second; what is beyond stays here

  /// `queue`, by which packets are passed on, and `counters` outlive this.
  GsiSharing(uint32_t own_slot, uint32_t interface_index, ForwardQueue& queue,
             SharingCounters& counters)
      : own_slot_(own_slot), directory_(interface_index), queue_(queue), counters_(counters) {}

  /// Who listens for what, this process among them: the sockets that it opens are for what is
  /// passed on to us.
  [[nodiscard]] ServiceDirectory& directory() { return directory_; }

  /// Passes on packets of one owner, whom gsi_owner() has named. True: they are this process's,
  /// too.
  [[nodiscard]] bool pass_on(const GsiOwner& owner, const PacketRun& packets, Instant now);

  /// What waited here and stays here after all.
  struct Returned {
    Flow flow;
    size_t segment_size;
    std::vector<uint8_t> bytes;
  };

  /// Whether something waits for a listener: retry() once in a while.
  [[nodiscard]] bool has_waiting() const { return !unclaimed_.empty(); }
  /// Does nothing where it was called just now. Answers what is this process's from now on.
  std::vector<Returned> retry(Instant now);

 private:
  struct Unclaimed {
    ServiceId service;
    Returned request;
    Instant since;
  };
  enum class Service : uint8_t { kOurs, kPassedOn, kNobody };
  Service pass_to_service(ServiceId service, const PacketRun& packets, Instant now);
  bool keep_unclaimed(ServiceId service, const PacketRun& packets, Instant now);
  void pass_to_everyone(const PacketRun& packets, Instant now);

  uint32_t own_slot_;
  ServiceDirectory directory_;
  ForwardQueue& queue_;
  SharingCounters& counters_;
  std::deque<Unclaimed> unclaimed_;  ///< oldest first
  Instant retry_at_{};
  Instant second_{};  ///< when to_everyone_ began to count
  uint32_t to_everyone_ = 0;
};

}  // namespace urxe
