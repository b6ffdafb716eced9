// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::netlink {

/// Gives the presence object the hook for RDMA netlink. Does nothing without that object.
void install() noexcept;

}  // namespace urxe::netlink
