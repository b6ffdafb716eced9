// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::cm {

/// Has the presence object hand the connection manager's node to us: from now on a process that was
/// started by `urxe run` can open /dev/infiniband/rdma_cm. Nothing where there is no such object.
void install() noexcept;

}  // namespace urxe::cm
