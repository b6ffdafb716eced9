// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// Keeps libraries that are loaded later from calling ibv_fork_init() for the program, as DPDK's
/// drivers for Mellanox's cards do: it takes registered memory away from the children of fork(),
/// and urxe does not need it. From now on libibverbs refuses that call as too late, the program's
/// own, too. If the program has called it before, nothing changes.
void keep_fork_untouched();

}  // namespace urxe
