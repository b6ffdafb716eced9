// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/objects.h"

namespace urxe {

/// What the transport enforces of a region's access flags; the rest are hints.
int mr_rights(int access);

/// Makes `mr` the handle of `region`, which was registered in `pd`. With the device's lock held.
void attach_region(Mr& mr, Pd& pd, MemoryRegion* region);

}  // namespace urxe
