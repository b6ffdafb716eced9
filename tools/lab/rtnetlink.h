// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netlink/netlink.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "tools/lab/failure.h"

namespace urxe::lab {

/// Interfaces and addresses of one network namespace: the one in which open() was called.
class Rtnetlink {
 public:
  static Expected<Rtnetlink, std::string> open();

  Done add_bridge(const std::string& name);
  /// A veth pair; the second end is in the network namespace of process `pid`, or in this one if
  /// that is 0.
  Done add_pair(const std::string& name, const std::string& peer, pid_t pid);
  Done put_into(const std::string& bridge, const std::string& port);
  /// `address` has the length of its prefix: 10.0.0.1/24. It is usable at once.
  Done add_address(const std::string& interface, const std::string& address);
  /// Programs that look for the way to a multicast group find the interface, which is up.
  Done add_multicast_route(const std::string& interface);
  /// What the interface sends is segmented first if it has so many bytes.
  Done limit_batches(const std::string& interface, unsigned bytes);
  /// Sets the MTU, if it is not 0, and the interface up.
  Done set_up(const std::string& interface, unsigned mtu);
  /// Waits until the interface can carry packets.
  Done wait_until_up(const std::string& interface);

 private:
  using Socket = std::unique_ptr<nl_sock, decltype(&nl_socket_free)>;
  explicit Rtnetlink(Socket socket) : socket_(std::move(socket)) {}
  Socket socket_;
};

}  // namespace urxe::lab
