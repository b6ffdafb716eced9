// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// Counter files. In the tree such a file holds "@<column>"; its path names the device. A program
/// that opens it reads the sum of that column at this moment in the device's counter table,
/// <tree>/devices/<device>.counters: URXE_COUNTER_ROWS rows, one per process slot, of
/// URXE_COUNTER_COLUMNS native 64-bit counters. As in sysfs, a read at the beginning of the file,
/// by a descriptor that has stayed open, finds the sum of its own moment.

#include <stdbool.h>
#include <sys/types.h>

#include "provider/presence/descriptors.h"

enum { URXE_COUNTER_ROWS = 512, URXE_COUNTER_COLUMNS = 192 };

/// Takes a descriptor that was just opened for reading inside the tree, with the flags of its
/// open(). Returns it; or, for a counter file, closes it and returns a file with the value in
/// decimal, which is in urxe_counters; or, for a file that holds "!", one that cannot be read
/// (EINVAL); or -1 and errno. If it is a directory, adds it to urxe_directories.
int urxe_finish_tree_open(int fd, int flags);

/// Descriptors of counter files.
extern struct urxe_fd_set urxe_counters;
/// Adds a descriptor of such a file, or a copy of one.
void urxe_note_counter(int fd);

/// Before a read at the offset `at` (-1: at the descriptor's own): if that is 0, the file has the
/// value of now. Not in a process that got the descriptor by exec, nor for stdio's streams, which
/// read by libc's own calls. False: it is of no counter file. Keeps errno. Two threads that read by
/// one descriptor at a time may disturb one another.
bool urxe_renew_counter(int fd, off_t at);
