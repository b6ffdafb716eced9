// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// A port of a port space, on one address or on all, that this process alone has among the user's
/// processes in the network namespace. It is a record in a HolderTable, which costs no descriptor,
/// and becomes free when the process ends in any way. A forked child does not have its parent's
/// ports.
///
/// Two claims of a port do not conflict if they have no address in common, or if both ask for
/// reuse_address and neither listens. The IPv4 wildcard means all IPv4 addresses; that of IPv6 and
/// AF_IB means IPv4 as well, unless af_only is set.
class PortClaim {
 public:
  struct Request {
    PortSpace space = PortSpace::kTcp;
    Address address;  ///< may be a wildcard; port 0: a free one of the kernel's ephemeral range
    bool reuse_address = false;
    bool af_only = false;  ///< an IPv6 wildcard leaves IPv4 alone
  };
  /// EADDRINUSE: another claim conflicts (for port 0: no port is free), EMFILE, ENFILE, ENOMEM. May
  /// wait up to half a second for other processes that are claiming a port. Any thread.
  static Expected<std::shared_ptr<PortClaim>, Errno> claim(const Request& request);
  /// A source port for a connection: one that nobody has claimed and that no other connection of
  /// this process uses. Connections of other processes may use it. EADDRNOTAVAIL: all are in use;
  /// EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<PortClaim>, Errno> take_ephemeral(PortSpace space);
  ~PortClaim();
  PortClaim(const PortClaim&) = delete;
  PortClaim& operator=(const PortClaim&) = delete;

  [[nodiscard]] uint16_t port() const;
  /// For a listener: from now on no other claim of the port succeeds, with or without
  /// reuse_address. EADDRINUSE: there is another one already; EINVAL: the port was taken by
  /// take_ephemeral(), or belongs to the parent of this forked child. Any thread.
  Expected<void, Errno> listen();
  /// A caller that claims with a lock held calls this before it registers its handlers of fork().
  static void prepare();

 private:
  struct Impl;
  explicit PortClaim(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe::cm
