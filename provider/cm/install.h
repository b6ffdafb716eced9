// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::cm {

/// Gives the presence object the hooks for the connection manager's files: from now on a process
/// that was started by `urxe run` can open /dev/infiniband/rdma_cm. Does nothing without that
/// object.
void install() noexcept;

}  // namespace urxe::cm
