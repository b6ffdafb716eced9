// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/cm/ids/cm_id.h"

namespace urxe::cm {

// With the service's lock held, and no device's.

/// Tells observers of the devices that the id is bound to, or listens on, how it is now.
void tell_observers(CmId& id);
/// The id is not bound to the device any more, or does not listen there.
void forget_report(CmId& id, DeviceUse& device);

}  // namespace urxe::cm
