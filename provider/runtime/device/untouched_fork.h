// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// Keeps the libraries that are loaded from now on from calling ibv_fork_init() for the program, as
/// DPDK's drivers for network cards of Mellanox do: registered memory would no longer be in the
/// children of fork(), which urxe does not need. libibverbs itself refuses it as too late, later
/// also to the program; what the program has asked for before stays.
void keep_fork_untouched();

}  // namespace urxe
