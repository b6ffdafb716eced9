// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The connection manager's files: descriptors of its node. The provider makes them and recognizes
/// them; the set of nodes (descriptors.h) has them too.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "provider/presence/presence_abi.h"

/// Opens the node. `stand_in` is the path of the null device, which is opened instead if the
/// descriptor cannot be used for commands.
int urxe_open_cm_node(const char* stand_in, int flags, unsigned mode);

/// Asks the provider. Keeps errno.
bool urxe_is_cm_file(int fd);

/// Carries out a write() to a descriptor for which urxe_is_cm_file() is true.
ssize_t urxe_write_to_cm_file(int fd, const void* buffer, size_t length);

void urxe_set_cm_hooks(const struct urxe_cm_hooks* hooks);
