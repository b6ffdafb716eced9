// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// Makes the calling thread known to DPDK until it ends: its buffers then go through a cache of the
/// thread's own. DPDK knows 128 threads at most; others go on without.
void register_thread();

/// For a forked child: threads of the parent's are not unregistered any more.
void forget_threads();

}  // namespace urxe
