// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"
#include "provider/cm/ids/cm_id.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {

/// BIND and BIND_IP, rdma_bind_addr(3).
Expected<void, Errno> bind_address(CmFile& file, uint32_t id, const sockaddr_storage& address,
                                   size_t size);

/// What an id is bound for.
enum class BindFor : uint8_t {
  kAnything,    ///< it may come to listen: port 0 asks for one that nobody else has
  kConnecting,  ///< port 0 asks for one that no other connection of this process has
};

/// Brings an id from kIdle to kBound. EINVAL: it is not idle, or a link-local address without an
/// interface; EADDRNOTAVAIL, ENODEV: no device has the address; EADDRINUSE; EMFILE. With the
/// service's lock held.
Expected<void, Errno> bind_id(Service& service, CmId& id, const Address& address, BindFor what);

}  // namespace urxe::cm
