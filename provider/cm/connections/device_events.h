// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/cm/ids/service.h"

namespace urxe::cm {

/// Takes and handles what has happened on the device: events of its connection manager, and the end
/// or return of its interface. False: there is more. With the service's lock held.
bool handle_events(Service& service, DeviceUse& device);

}  // namespace urxe::cm
