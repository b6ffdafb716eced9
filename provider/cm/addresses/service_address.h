// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/cm_message.h"
#include "provider/cm/addresses/addresses.h"

namespace urxe::cm {

/// The address with the service id, where it is one of AF_IB; else with its port.
Address with_service(const Address& address, ServiceId service);

}  // namespace urxe::cm
