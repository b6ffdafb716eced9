// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/service_address.h"

#include <endian.h>

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
