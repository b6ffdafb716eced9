// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The connection manager's files: descriptors of its node, which the provider makes. They are
/// marked in the set of nodes (descriptors.h); the provider tells them from others.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "provider/presence/presence_abi.h"

/// Opens the node. `stand_in` is the null device's path, for what the provider need not be asked.
int urxe_open_cm_node(const char* stand_in, int flags, unsigned mode);

/// Asks the provider. errno is left alone.
bool urxe_is_cm_file(int fd);

/// Carries out a write() to a descriptor that urxe_is_cm_file() said yes to.
ssize_t urxe_write_to_cm_file(int fd, const void* buffer, size_t length);

void urxe_set_cm_hooks(const struct urxe_cm_hooks* hooks);
