// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/gid.h"

namespace urxe::cm {

/// The kernel's AF_IB (27), whatever libc's headers have.
inline constexpr sa_family_t kAfIb = 27;

/// struct sockaddr_ib of librdmacm; all but scope_id in network byte order.
struct SockaddrIb {
  sa_family_t family = kAfIb;
  uint16_t pkey = 0;
  uint32_t flowinfo = 0;
  uint8_t address[16] = {};
  uint64_t service_id = 0;
  uint64_t service_id_mask = 0;
  uint64_t scope_id = 0;
};
static_assert(sizeof(SockaddrIb) == 48);

/// Port spaces by the number in their service ids (annex A11.2).
enum class PortSpace : uint16_t { kIpoib = 0x0002, kTcp = 0x0106, kUdp = 0x0111, kIb = 0x013f };

/// A socket address of rdma_cm: IPv4, IPv6, or an InfiniBand one with a GID. Value; may be of no
/// family yet.
struct Address {
  sockaddr_storage storage{};  ///< zeros: none

  [[nodiscard]] sa_family_t family() const { return storage.ss_family; }
  [[nodiscard]] bool is_set() const { return family() != 0; }
  [[nodiscard]] size_t size() const;  ///< of the family's structure; 0: none
  [[nodiscard]] bool is_any() const;  ///< set, and all addresses
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] bool is_multicast() const;
  [[nodiscard]] bool is_link_local() const;  ///< fe80::/10
  [[nodiscard]] uint32_t scope_id() const;   ///< of IPv6 and AF_IB: interface index, 0: none
  /// Host byte order. AF_IB: the lower 16 bits of the service id.
  [[nodiscard]] uint16_t port() const;
  /// AF_IB: keeps the bits of the service id above the port that its mask selects; the mask becomes
  /// all ones.
  void set_port(uint16_t port);
  /// IPv4 as ::ffff:a.b.c.d; any address: all zeros.
  [[nodiscard]] Gid gid() const;
};

/// EINVAL: shorter than its family's structure; EAFNOSUPPORT: family.
Expected<Address, Errno> read_address(const sockaddr_storage& storage, size_t size);
/// An address of `family` (AF_INET, AF_INET6, kAfIb) with this GID. IPv4 needs a mapped GID, or
/// zeros for the wildcard. An AF_IB address has the default partition, and a service id of which
/// only the port, if it is not 0, is masked in: see select_port_space().
Address make_address(sa_family_t family, const Gid& gid, uint16_t port, uint32_t scope_id = 0);
/// The address with another GID and scope id; port, partition and service id stay.
Address with_host(const Address& address, const Gid& gid, uint32_t scope_id);
/// "192.0.2.1:7471", "[fe80::1%2]:7471" (of AF_IB too); "none"
std::string to_string(const Address& address);

/// The service id of listeners on the address and of REQs to it.
ServiceId service_of(PortSpace space, const Address& address);
/// An AF_IB address with the service id; another address with the service's port.
Address with_service(const Address& address, ServiceId service);
/// The port space that an id of `space` takes its port from. An AF_IB address selects it by the
/// bits of its service id that the mask leaves, and gets the service id of that space.
/// EPROTONOSUPPORT: it selects a port space that an id of `space` may not use.
Expected<PortSpace, Errno> select_port_space(PortSpace space, Address& address);
/// The multicast GID of an address (RoCE v2: IPv4 as ::ffff:a.b.c.d); nullopt: not a group.
std::optional<Gid> multicast_gid(const Address& address);

}  // namespace urxe::cm
