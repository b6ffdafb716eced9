// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"
#include "provider/cm/ids/cm_id.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {

/// What an id is bound for.
enum class BindFor : uint8_t {
  kAnything,    ///< it may come to listen: a port that is asked for as 0 is nobody else's
  kConnecting,  ///< such a port only tells its connections from others
};

/// rdma_bind_addr(3): kIdle becomes kBound. EINVAL: it is not idle, or a link-local address without
/// an interface; EADDRNOTAVAIL, ENODEV: no device of ours has the address; EADDRINUSE; EMFILE.
/// With the service's lock held.
Expected<void, Errno> bind_id(Service& service, CmId& id, const Address& address, BindFor what);

}  // namespace urxe::cm
