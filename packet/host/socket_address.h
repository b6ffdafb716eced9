// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "packet/wire/gid.h"

namespace urxe {

/// An IPv4 or IPv6 address and port, as the socket calls take it.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// `port` is in host order. `scope`, an interface index, is used only for IPv6 addresses and
  /// groups that are limited to a link or interface.
  SocketAddress(const Gid& gid, uint16_t port, uint32_t scope);

  [[nodiscard]] const sockaddr* get() const { return &storage_.any; }
  [[nodiscard]] sockaddr* get() { return &storage_.any; }
  [[nodiscard]] int family() const { return storage_.any.sa_family; }
  [[nodiscard]] socklen_t size() const {
    return family() == AF_INET ? sizeof storage_.v4 : sizeof storage_.v6;
  }
  static constexpr socklen_t kCapacity = sizeof(sockaddr_in6);

  /// The parts of an address that a receive call has written here.
  [[nodiscard]] Gid gid() const;
  [[nodiscard]] uint16_t port() const;  ///< host order

 private:
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6{};
  } storage_;
};

}  // namespace urxe
