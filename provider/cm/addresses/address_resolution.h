// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// How a destination is reached.
struct Resolved {
  std::string device;  ///< of ours, by name
  uint8_t port = 1;
  uint8_t gid_index = 0;
  Address source;       ///< with the port that was asked for
  Address destination;  ///< with its scope, where it needs one
  Gid local;
  Gid remote;
  uint8_t hop_limit = 64;
};

/// Finds route, source address and device of a destination, and whether its neighbour (or the
/// router) answers. The kernel's tables are asked; nothing needs a privilege. A neighbour that the
/// kernel knows is not asked again; one that it does not know is made known by a datagram to the
/// discard port, which the kernel sends an ARP or neighbour request for.
///
/// A destination of all addresses stands for the source, or else for the loopback address. A group
/// has no neighbour: it is reached by way of its scope's interface, the source's or the route's, in
/// this order. AF_IB addresses are resolved as the IP addresses that their GIDs are.
///
/// Not thread-safe: the driver calls poll() when wait_fd() is readable or at deadline(); at once
/// after start(). To be driven by threads of one network namespace.
class AddressResolution {
 public:
  /// `source` may be unset or any. EINVAL: families differ, or a link-local destination of no link;
  /// what find_route() says where there is no route, as Linux answers at once then; ENOMEM. Other
  /// errors come from poll().
  static Expected<std::unique_ptr<AddressResolution>, Errno> start(const Address& source,
                                                                   const Address& destination,
                                                                   Duration timeout, Instant now);
  ~AddressResolution();
  AddressResolution(const AddressResolution&) = delete;
  AddressResolution& operator=(const AddressResolution&) = delete;

  /// The result, once there is one: ETIMEDOUT (the neighbour does not answer), EADDRNOTAVAIL (not
  /// our source address), ENODEV (no device of ours on that way), ENOMEM, EMFILE. The same one when
  /// asked again.
  std::optional<Expected<Resolved, Errno>> poll(Instant now);
  [[nodiscard]] Instant deadline() const;  ///< of the next poll()
  [[nodiscard]] int wait_fd() const;       ///< -1: none; may change by poll()

 private:
  struct Impl;
  explicit AddressResolution(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe::cm
