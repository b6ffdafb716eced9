// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/rehost.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

namespace urxe::cm {
namespace {

SockaddrIb read_ib(const Address& address) {
  SockaddrIb ib;
  std::memcpy(static_cast<void*>(&ib), &address.storage, sizeof ib);
  return ib;
}

Address of_ib(const SockaddrIb& ib) {
  Address address;
  std::memcpy(&address.storage, &ib, sizeof ib);
  return address;
}

}  // namespace

Address with_gid(const Address& address, const Gid& gid, uint32_t scope_id) {
  if (address.family() != kAfIb) {
    return make_address(address.family(), gid, address.port(), scope_id);
  }
  SockaddrIb ib = read_ib(address);
  std::copy(gid.bytes.begin(), gid.bytes.end(), ib.address);
  return of_ib(ib);
}

Address with_service(const Address& address, ServiceId service) {
  if (address.family() != kAfIb) {
    Address changed = address;
    changed.set_port(static_cast<uint16_t>(service.value()));
    return changed;
  }
  SockaddrIb ib = read_ib(address);
  ib.service_id = htobe64(service.value());
  ib.service_id_mask = ~uint64_t{0};
  return of_ib(ib);
}

}  // namespace urxe::cm
