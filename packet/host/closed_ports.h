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
/// packet, from a port of its own, chosen at random. An error must name that port, and two errors
/// are needed, so an attacker who cannot see the datagrams can hardly forge them. Hosts limit such
/// errors, Linux to one a second, and firewalls may drop them: without errors, the port may be open
/// or closed. Not thread-safe.
class ClosedPorts {
 public:
  /// Hosts that are looked at at a time. Each takes a descriptor, which is given back kKeep after
  /// the last look. Looks at others find nothing.
  static constexpr size_t kMost = 16;
  static constexpr Duration kKeep = seconds(2);

  /// Sends a datagram from `local` to `peer`. Returns true if two datagrams of earlier looks have
  /// found the port closed, of which the last was sent no more than kKeep ago; the next look then
  /// begins anew. `scope` is the interface index, for link-local addresses. If the datagram cannot
  /// be sent, for example for want of a descriptor, the look counts for nothing.
  bool look(const Gid& local, const Gid& peer, uint32_t scope, Instant now);
  /// Forgets the hosts at which nobody has looked for kKeep.
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
