// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Counter files. In the tree such a file holds "@<column> <device>"; whoever opens it is to read
/// the sum of that column of the device's counter table at that moment:
/// <tree>/devices/<device>.counters, URXE_COUNTER_ROWS rows (one a process slot) of
/// URXE_COUNTER_COLUMNS native 64-bit counters.

enum { URXE_COUNTER_ROWS = 512, URXE_COUNTER_COLUMNS = 160 };

/// Takes a descriptor just opened for reading inside the tree with these flags. Returns it, or
/// where it is a counter file closes it and returns that of a sealed file with the value in
/// decimal; where it holds "!", one that cannot be read (EINVAL); or -1 and errno. Notes a
/// directory in urxe_tree_entered.
int urxe_finish_tree_open(int fd, int flags);
