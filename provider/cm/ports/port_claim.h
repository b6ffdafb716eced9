// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// A port of a port space that no other process of the user has in this network namespace, on one
/// address or on all: a record in a HolderTable, which costs no descriptor. It is free as soon as
/// its process has ended, however that was. A forked child does not have the ports of its parent.
///
/// Two claims of a port, of one process or of two, get on where they have no address in common, or
/// where both ask for reuse_address and neither listens. "All" of IPv4 is all IPv4 addresses; "all"
/// of IPv6 and AF_IB is IPv4 too unless af_only.
class PortClaim {
 public:
  struct Request {
    PortSpace space = PortSpace::kTcp;
    Address address;  ///< any: all; port 0: one that is free, from the kernel's ephemeral range
    bool reuse_address = false;
    bool af_only = false;  ///< an IPv6 wildcard leaves IPv4 alone
  };
  /// EADDRINUSE: somebody has it (for port 0: no port is free), EMFILE, ENFILE, ENOMEM. Waits for
  /// others that are about to claim the same port, or one of some others, for half a second at
  /// most. Any thread.
  static Expected<std::shared_ptr<PortClaim>, Errno> claim(const Request& request);
  /// A port number for the source of a connection: not claimed, and no other connection's of this
  /// process; those of other processes' connections are not noticed. EADDRNOTAVAIL: all are in use;
  /// EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<PortClaim>, Errno> take_ephemeral(PortSpace space);
  ~PortClaim();
  PortClaim(const PortClaim&) = delete;
  PortClaim& operator=(const PortClaim&) = delete;

  [[nodiscard]] uint16_t port() const;
  /// For a listener: from now on nobody else, with or without reuse_address, may have the port.
  /// EADDRINUSE: somebody has it too; EINVAL: an ephemeral port, or one of the parent of a forked
  /// child. Any thread.
  Expected<void, Errno> listen();
  /// To be called before the handlers of fork() are registered of who claims with a lock held.
  static void prepare();

 private:
  struct Impl;
  explicit PortClaim(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe::cm
