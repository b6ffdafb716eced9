// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/presence/presence_abi.h"

/// See urxe_presence.
void urxe_set_ioctl_hook(urxe_ioctl_hook hook);
