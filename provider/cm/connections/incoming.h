// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/cm/ids/service.h"

namespace urxe::cm {

/// Handles a REQ or SIDR_REQ that a listener has got: makes an id for it and tells the application,
/// or refuses it. With the service's lock held.
void handle_request(Service& service, DeviceUse& device, CmEvent& event);

}  // namespace urxe::cm
