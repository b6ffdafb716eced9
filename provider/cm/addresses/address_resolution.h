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
  Address destination;  ///< with its scope, if it needs one
  Gid local;
  Gid remote;
  uint8_t hop_limit = 64;
};

/// Finds the route, source address and device for a destination, and checks that its neighbour (or
/// the router) responds. Uses the kernel's tables and needs no privilege. If the kernel does not
/// know the neighbour, a datagram to the discard port makes it send an ARP or neighbour request.
///
/// The wildcard address as destination stands for the source, or else for the loopback address. A
/// group has no neighbour: its packets leave by the interface of its scope, of the source or of the
/// route, in this order. AF_IB addresses are resolved as the IP addresses in their GIDs.
///
/// Not thread-safe. The caller calls poll() at once after start(), when wait_fd() is readable and
/// at deadline(), always in the same network namespace.
class AddressResolution {
 public:
  /// `source` may be unset or the wildcard. EINVAL: families differ, or a link-local destination
  /// without a link; the errors of find_route() if there is no route, as in Linux; ENOMEM. Other
  /// errors come from poll().
  static Expected<std::unique_ptr<AddressResolution>, Errno> start(const Address& source,
                                                                   const Address& destination,
                                                                   Duration timeout, Instant now);
  ~AddressResolution();
  AddressResolution(const AddressResolution&) = delete;
  AddressResolution& operator=(const AddressResolution&) = delete;

  /// The result, once there is one: ETIMEDOUT (the neighbour does not respond), EADDRNOTAVAIL (the
  /// source address is not this host's), ENODEV (no device has the source address), ENOMEM, EMFILE.
  /// Returns the same result when called again.
  std::optional<Expected<Resolved, Errno>> poll(Instant now);
  [[nodiscard]] Instant deadline() const;  ///< of the next poll()
  [[nodiscard]] int wait_fd() const;       ///< -1: none; may change by poll()

 private:
  struct Impl;
  explicit AddressResolution(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace urxe::cm
