// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe {

/// Finds out whether a host still has a socket on UDP port 4791: if it has none, its kernel answers
/// a datagram there with an ICMP error. Each look sends a datagram that no RoCE end takes for a
/// packet, from a port of its own, chosen at random. An error must name that port, so it is hard to
/// forge for who cannot see the datagram; and it takes two. Hosts limit such errors, Linux to one a
/// second, and a firewall may drop them: that nothing is found means nothing. Not thread-safe.
class ClosedPorts {
 public:
  /// Hosts that are looked at at a time. Each takes a descriptor, which is given back kKeep after
  /// the last look. Looks at others find nothing.
  static constexpr size_t kMost = 16;
  static constexpr Duration kKeep = seconds(2);

  /// Sends a datagram from `local` to `peer`. True: two that were sent by earlier looks, the last
  /// one no more than kKeep ago, came to a closed port. The next look begins anew. `scope`: the
  /// interface of link-local addresses. Errors, such as a lack of descriptors, find nothing.
  bool look(const Gid& local, const Gid& peer, uint32_t scope, Instant now);
  /// Forgets the looks that nobody has repeated.
  void expire(Instant now);
  /// When to call expire().
  [[nodiscard]] std::optional<Instant> next_expiry() const;

 private:
  struct Look {
    Gid local;
    Gid peer;
    uint32_t scope = 0;
    FileDescriptor socket;
    uint32_t refusals = 0;
    Instant sent_at;
  };
  Look* find(const Gid& local, const Gid& peer, uint32_t scope);

  std::vector<Look> looks_;
};

}  // namespace urxe
