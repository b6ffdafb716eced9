// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// The files of umad nodes, by which programs exchange management datagrams. The provider makes
/// them and recognizes them; the set of nodes (descriptors.h) has them too.

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "provider/presence/descriptors.h"
#include "provider/presence/presence_abi.h"

/// Descriptors of such files, but for copies by dup(): hints, as in descriptors.h.
extern struct urxe_fd_set urxe_mad_files;

/// Opens the node of that number. `stand_in` is the path of the null device, which is opened
/// instead if nothing can be done with the descriptor.
int urxe_open_mad_node(const char* stand_in, int number, int flags, unsigned mode);

/// Asks the provider. Keeps errno.
bool urxe_is_mad_file(int fd);

// For a descriptor for which urxe_is_mad_file() is true:

ssize_t urxe_write_to_mad_file(int fd, const void* buffer, size_t length);
int urxe_command_mad_file(int fd, unsigned long request, void* argument);
/// The fewest bytes that a read() may ask for.
size_t urxe_least_read_of_mad_file(int fd);

void urxe_set_mad_hooks(const struct urxe_mad_hooks* hooks);
