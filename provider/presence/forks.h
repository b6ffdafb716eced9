// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// fork(). After ibv_fork_init() libibverbs takes registered memory away from children, by whole
/// pages (MADV_DONTFORK), so that a device and the parent go on with the same pages. Those pages
/// also have what the handlers of fork() need in the child, the provider's or any other's. Where
/// children can do no harm, madvise() ignores what libibverbs asks for (forks.c).

#include <stdbool.h>

/// Whether fork() takes no registered memory away from the parent. urxe's is as any other. That of
/// a real device is, since Linux 5.12; on an older kernel there may be one.
bool urxe_has_safe_forks(void);
