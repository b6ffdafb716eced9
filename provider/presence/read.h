// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/presence/presence_abi.h"

// Members of urxe_presence.
void urxe_set_read_hook(urxe_read_hook hook);
void urxe_watch_reads(int fd);
