// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/engine/file_descriptor.h"
#include "packet/engine/forward_queue.h"
#include "packet/engine/port_sharing.h"
#include "packet/engine/udp_counters.h"
#include "packet/wire/cm_message.h"

namespace urxe {

/// Whose a packet to QP1 is, as the MAD in it says.
struct GsiOwner {
  enum class Kind : uint8_t {
    kOwn,       ///< no MAD: for whoever has received it to drop
    kEveryone,  ///< a copy for each
    kSlot,      ///< of the process with this slot
    kService,   ///< of the process that listens for it
  };
  Kind kind = Kind::kOwn;
  uint64_t value = 0;  ///< slot, or service id
  friend bool operator==(const GsiOwner&, const GsiOwner&) = default;
};
GsiOwner gsi_owner(std::span<const uint8_t> packet);

/// The name of the process that listens for a service on an address of the interface, or (nullopt)
/// on all.
UnixName service_name(uint32_t interface_index, ServiceId service, const std::optional<Gid>& local);

/// QP1 of an interface's addresses, which processes of one user share. A process that listens for a
/// service has a unix datagram socket that bears the service's name, and whoever receives a request
/// for it passes it on there; all other messages go to the slot that is in the communication id
/// they answer. What nobody else wants stays with the process that has received it, which answers
/// what is to be answered: no such service, no such communication.
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
  GsiSharing(const PortSharing& sharing, uint32_t interface_index, ForwardQueue& queue,
             UdpCounters& counters)
      : own_(sharing), interface_index_(interface_index), queue_(queue), counters_(counters) {}

  /// Takes the name. The number of a socket for what is passed on to it, to be watched and read.
  /// EADDRINUSE; EMFILE and such.
  Expected<uint32_t, Errno> listen(ServiceId service, const std::optional<Gid>& local);
  void stop_listening(ServiceId service, const std::optional<Gid>& local);
  /// -1: no such socket any more.
  [[nodiscard]] int socket(uint32_t number) const;

  /// Passes on packets of one owner, whom gsi_owner() has named. True: they are this process's,
  /// too.
  [[nodiscard]] bool pass_on(const GsiOwner& owner, const ForwardedPackets& packets, Instant now);

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
  /// Service and address; all addresses: zero, which is none.
  using Key = std::pair<ServiceId, std::array<uint8_t, 16>>;
  struct Unclaimed {
    ServiceId service;
    Returned request;
    Instant since;
  };
  static Key key(ServiceId service, const std::optional<Gid>& local);
  [[nodiscard]] bool listens(ServiceId service, const std::optional<Gid>& local) const;
  enum class Service : uint8_t { kOurs, kPassedOn, kNobody };
  Service pass_to_service(ServiceId service, const ForwardedPackets& packets, Instant now);
  bool keep_unclaimed(ServiceId service, const ForwardedPackets& packets, Instant now);
  void pass_to_everyone(const ForwardedPackets& packets, Instant now);

  PortSharing own_;
  uint32_t interface_index_;
  ForwardQueue& queue_;
  UdpCounters& counters_;
  std::map<Key, uint32_t> services_;     ///< the number of the socket
  std::vector<FileDescriptor> sockets_;  ///< by number; closed ones are used again
  std::deque<Unclaimed> unclaimed_;      ///< oldest first
  Instant retry_at_{};
  Instant second_{};  ///< when to_everyone_ began to count
  uint32_t to_everyone_ = 0;
};

}  // namespace urxe
