// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/local_address.h"

#include <sys/socket.h>

#include "packet/host/file_descriptor.h"
#include "packet/host/socket_address.h"

namespace urxe {
namespace {

constexpr uint8_t kLoopbackNetwork = 127;
constexpr uint16_t kPort = 9;  // any: nothing is sent

}  // namespace

/// The source address that the kernel chooses for packets to an address of the host is the same
/// one. Only for 127.0.0.2 and the like it is 127.0.0.1.
bool is_address_of_this_host(const Gid& address) {
  if (address.is_ipv4() && address.ipv4()[0] == kLoopbackNetwork) return true;
  SocketAddress name(address, kPort, 0);
  const FileDescriptor fd(socket(name.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || connect(fd.get(), name.get(), name.size()) != 0) return false;
  socklen_t size = SocketAddress::kCapacity;
  return getsockname(fd.get(), name.get(), &size) == 0 && name.gid() == address;
}

}  // namespace urxe
