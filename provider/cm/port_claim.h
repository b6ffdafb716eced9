// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/file_descriptor.h"
#include "provider/cm/addresses.h"

namespace urxe::cm {

/// A port of a port space that no other process of the user has in this network namespace, on one
/// address or on all. The kernel frees it however the process dies: it is an abstract unix name.
/// Within the process, ids that may share a port (RDMA_OPTION_ID_REUSEADDR, AF_ONLY) share a claim.
class PortClaim {
 public:
  struct Request {
    PortSpace space = PortSpace::kTcp;
    Address address;  ///< any: all; port 0: one that is free, from the kernel's ephemeral range
    bool reuse_address = false;
    bool af_only = false;  ///< an IPv6 wildcard leaves IPv4 alone
  };
  /// EADDRINUSE: somebody has it (for port 0: no port is free). Any thread.
  static Expected<std::shared_ptr<PortClaim>, Errno> claim(const Request& request);
  /// A port number for the source of a connection: not claimed, and no other connection's of this
  /// process. Costs no descriptor. EADDRNOTAVAIL: all are in use.
  static Expected<std::shared_ptr<PortClaim>, Errno> take_ephemeral(PortSpace space);
  ~PortClaim();

  [[nodiscard]] uint16_t port() const;
  /// For a listener: nobody else, with or without reuse_address, may listen there. EADDRINUSE.
  Expected<void, Errno> listen();

 private:
  struct Impl;
  explicit PortClaim(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe::cm
