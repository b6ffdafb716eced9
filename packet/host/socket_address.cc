// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/socket_address.h"

#include <cstring>

namespace urxe {

SocketAddress::SocketAddress(const Gid& gid, uint16_t port, uint32_t scope) {
  if (gid.is_ipv4()) {
    storage_.v4 = {};
    storage_.v4.sin_family = AF_INET;
    storage_.v4.sin_port = htons(port);
    std::memcpy(&storage_.v4.sin_addr, gid.ipv4(), 4);
    return;
  }
  storage_.v6.sin6_family = AF_INET6;
  storage_.v6.sin6_port = htons(port);
  std::memcpy(&storage_.v6.sin6_addr, gid.bytes.data(), 16);
  const uint8_t group_scope = gid.bytes[1] & 0xf;  // 1: interface-local, 2: link-local
  const bool is_narrow_group = gid.bytes[0] == 0xff && (group_scope == 1 || group_scope == 2);
  if (gid.is_ipv6_link_local() || is_narrow_group) storage_.v6.sin6_scope_id = scope;
}

Gid SocketAddress::gid() const {
  Gid gid;
  if (family() == AF_INET) {
    gid.bytes[10] = gid.bytes[11] = 0xff;
    std::memcpy(gid.bytes.data() + 12, &storage_.v4.sin_addr, 4);
  } else {
    std::memcpy(gid.bytes.data(), &storage_.v6.sin6_addr, 16);
  }
  return gid;
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? storage_.v4.sin_port : storage_.v6.sin6_port);
}

}  // namespace urxe
