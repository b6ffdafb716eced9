// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/cm_message.h"
#include "provider/cm/addresses.h"

namespace urxe::cm {

/// The address with another host: family and port stay, of AF_IB all else too. An IPv4 one needs a
/// mapped GID.
Address with_gid(const Address& address, const Gid& gid, uint32_t scope_id = 0);

/// The same with the service id, where it is one of AF_IB; else with its port.
Address with_service(const Address& address, ServiceId service);

}  // namespace urxe::cm
