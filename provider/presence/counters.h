// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Counter files. In the tree such a file holds "@<column>"; its path names the device. A program
/// that opens it reads the sum of that column at this moment in the device's counter table,
/// <tree>/devices/<device>.counters: URXE_COUNTER_ROWS rows, one per process slot, of
/// URXE_COUNTER_COLUMNS native 64-bit counters.

enum { URXE_COUNTER_ROWS = 512, URXE_COUNTER_COLUMNS = 192 };

/// Takes a descriptor that was just opened for reading inside the tree, with the flags of its
/// open(). Returns it; or, for a counter file, closes it and returns a sealed file with the value
/// in decimal; or, for a file that holds "!", one that cannot be read (EINVAL); or -1 and errno. If
/// it is a directory, adds it to urxe_directories.
int urxe_finish_tree_open(int fd, int flags);
