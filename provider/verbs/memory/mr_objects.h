// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/objects.h"

namespace urxe {

/// The access flags that the transport enforces; the others are hints.
int mr_rights(int access);

/// Makes `mr` the handle of `region`, a region of `pd`. With the device's lock held.
void attach_region(Mr& mr, Pd& pd, MemoryRegion* region);

}  // namespace urxe
