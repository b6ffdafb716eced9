// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/addresses.h"

#include <endian.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace urxe::cm {
namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr uint64_t kPortBits = 0xffff;

template <class Sockaddr>
Sockaddr view(const sockaddr_storage& storage) {
  Sockaddr address{};
  std::memcpy(static_cast<void*>(&address), &storage, sizeof address);
  return address;
}

template <class Sockaddr>
void store(const Sockaddr& address, sockaddr_storage& storage) {
  std::memcpy(&storage, &address, sizeof address);
}

size_t size_of_family(sa_family_t family) {
  switch (family) {
    case AF_INET:
      return sizeof(sockaddr_in);
    case AF_INET6:
      return sizeof(sockaddr_in6);
    case kAfIb:
      return sizeof(SockaddrIb);
    default:
      return 0;
  }
}

Gid gid_of_ipv4(const in_addr& address) {
  uint8_t bytes[4];
  std::memcpy(bytes, &address, sizeof bytes);
  return address.s_addr == INADDR_ANY ? Gid{} : Gid::from_ipv4(bytes);
}

}  // namespace

size_t Address::size() const {
  return size_of_family(family());
}

bool Address::is_any() const {
  return is_set() && gid().is_zero();
}

bool Address::is_loopback() const {
  Gid ipv6_loopback;
  ipv6_loopback.bytes[15] = 1;
  const Gid ours = gid();
  return ours == ipv6_loopback || (ours.is_ipv4() && ours.ipv4()[0] == 127);
}

bool Address::is_multicast() const {
  return gid().is_multicast();
}

bool Address::is_link_local() const {
  return gid().is_ipv6_link_local();
}

uint32_t Address::scope_id() const {
  if (family() == AF_INET6) return view<sockaddr_in6>(storage).sin6_scope_id;
  if (family() == kAfIb) return static_cast<uint32_t>(view<SockaddrIb>(storage).scope_id);
  return 0;
}

uint16_t Address::port() const {
  if (family() == AF_INET) return ntohs(view<sockaddr_in>(storage).sin_port);
  if (family() == AF_INET6) return ntohs(view<sockaddr_in6>(storage).sin6_port);
  if (family() != kAfIb) return 0;
  const auto address = view<SockaddrIb>(storage);
  return static_cast<uint16_t>(be64toh(address.service_id & address.service_id_mask) & kPortBits);
}

void Address::set_port(uint16_t port) {
  if (family() == AF_INET) {
    auto address = view<sockaddr_in>(storage);
    address.sin_port = htons(port);
    store(address, storage);
  } else if (family() == AF_INET6) {
    auto address = view<sockaddr_in6>(storage);
    address.sin6_port = htons(port);
    store(address, storage);
  } else if (family() == kAfIb) {
    auto address = view<SockaddrIb>(storage);
    const uint64_t above = be64toh(address.service_id & address.service_id_mask) & ~kPortBits;
    address.service_id = htobe64(above | port);
    address.service_id_mask = kAllOnes;
    store(address, storage);
  }
}

Gid Address::gid() const {
  if (family() == AF_INET) return gid_of_ipv4(view<sockaddr_in>(storage).sin_addr);
  if (family() == AF_INET6) {
    return Gid::from_ipv6(view<sockaddr_in6>(storage).sin6_addr.s6_addr);
  }
  if (family() == kAfIb) return Gid::from_ipv6(view<SockaddrIb>(storage).address);
  return {};
}

Expected<Address, Errno> read_address(const sockaddr_storage& storage, size_t size) {
  if (size < sizeof storage.ss_family) return error(EINVAL);
  const size_t needed = size_of_family(storage.ss_family);
  if (needed == 0) return error(EAFNOSUPPORT);
  if (size < needed) return error(EINVAL);
  Address address;
  std::memcpy(&address.storage, &storage, needed);
  return address;
}

Address with_host(const Address& address, const Gid& gid, uint32_t scope_id) {
  Address changed = make_address(address.family(), gid, address.port(), scope_id);
  if (address.family() != kAfIb) return changed;
  auto ib = view<SockaddrIb>(address.storage);
  std::copy(gid.bytes.begin(), gid.bytes.end(), ib.address);
  ib.scope_id = scope_id;
  store(ib, changed.storage);
  return changed;
}

Address make_address(sa_family_t family, const Gid& gid, uint16_t port, uint32_t scope_id) {
  Address address;
  if (family == AF_INET) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    if (gid.is_ipv4()) std::memcpy(&ipv4.sin_addr, gid.ipv4(), sizeof ipv4.sin_addr);
    store(ipv4, address.storage);
  } else if (family == AF_INET6) {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    std::memcpy(&ipv6.sin6_addr, gid.bytes.data(), gid.bytes.size());
    ipv6.sin6_scope_id = scope_id;
    store(ipv6, address.storage);
  } else if (family == kAfIb) {
    SockaddrIb ib;
    ib.pkey = htons(kDefaultPKey.value());
    std::memcpy(ib.address, gid.bytes.data(), gid.bytes.size());
    ib.service_id = htobe64(port);
    ib.service_id_mask = htobe64(port != 0 ? kPortBits : 0);
    ib.scope_id = scope_id;
    store(ib, address.storage);
    return address;
  }
  address.set_port(port);
  return address;
}

std::string to_string(const Address& address) {
  if (!address.is_set()) return "none";
  const std::string port = std::to_string(address.port());
  if (address.family() == AF_INET) {
    return (address.is_any() ? "0.0.0.0" : address.gid().to_string()) + ":" + port;
  }
  std::string text = "[" + address.gid().to_string();
  if (address.scope_id() != 0) text += "%" + std::to_string(address.scope_id());
  return text + "]:" + port;
}

ServiceId service_of(PortSpace space, const Address& address) {
  if (address.family() == kAfIb) {
    return ServiceId{be64toh(view<SockaddrIb>(address.storage).service_id)};
  }
  return ServiceId{uint64_t{static_cast<uint16_t>(space)} << 16 | address.port()};
}

Address with_service(const Address& address, ServiceId service) {
  Address changed = address;
  if (address.family() != kAfIb) {
    changed.set_port(static_cast<uint16_t>(service.value()));
    return changed;
  }
  auto ib = view<SockaddrIb>(address.storage);
  ib.service_id = htobe64(service.value());
  ib.service_id_mask = kAllOnes;
  store(ib, changed.storage);
  return changed;
}

Expected<PortSpace, Errno> select_port_space(PortSpace space, Address& address) {
  if (address.family() != kAfIb) return space;
  auto ib = view<SockaddrIb>(address.storage);
  const uint64_t mask = be64toh(ib.service_id_mask) & ~kPortBits;
  for (PortSpace candidate : {PortSpace::kIb, PortSpace::kTcp, PortSpace::kUdp}) {
    // Ids of RDMA_PS_IB may use all of them.
    if (space != candidate && space != PortSpace::kIb) continue;
    const uint64_t service = uint64_t{static_cast<uint16_t>(candidate)} << 16;
    if ((be64toh(ib.service_id) & mask) != (service & mask)) continue;
    ib.service_id = htobe64(service | address.port());
    ib.service_id_mask = htobe64(~kPortBits | be64toh(ib.service_id_mask));
    store(ib, address.storage);
    return candidate;
  }
  return error(EPROTONOSUPPORT);
}

std::optional<Gid> multicast_gid(const Address& address) {
  const Gid gid = address.gid();
  if (!gid.is_multicast()) return std::nullopt;
  return gid;
}

}  // namespace urxe::cm
