// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "provider/cm/addresses/address_resolution.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {

// The address resolution of an id, from kAddressQuery to the event that tells the result. The
// service's thread polls it when its descriptor is ready and when it is due. All with the service's
// lock held.

/// Begins, and finishes at once if the result is known already. The errors of Watch::add().
Expected<void, Errno> start_resolution(Service& service, CmId& id,
                                       std::unique_ptr<AddressResolution> resolution);
/// Polls an id whose descriptor is ready.
void poll_resolution(Service& service, CmId& id, Instant now);
/// Polls all that are due.
void poll_due_resolutions(Service& service, Instant now);
void cancel_resolution(Service& service, CmId& id);

}  // namespace urxe::cm
