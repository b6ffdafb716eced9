// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/presence/presence_abi.h"

/// urxe_presence::set_memory_hooks
void urxe_set_memory_hooks(const struct urxe_memory_hooks* hooks);
