// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "packet/base/expected.h"
#include "provider/netlink/message.h"

namespace urxe::netlink {

/// What the kernel's RDMA netlink has answered.
struct KernelAnswer {
  std::vector<Bytes> messages;
  Bytes end;  ///< NLMSG_DONE or NLMSG_ERROR; empty: there was none
  bool is_error = false;
};

/// Passes a program's request on. The answer is for the program's socket with `port`, which has the
/// options of `program`. EPROTONOSUPPORT: the kernel has no RDMA netlink.
Expected<KernelAnswer, Errno> ask_kernel(int program, uint32_t port, const Request& request);

/// The same by a socket of RDMA netlink.
Expected<KernelAnswer, Errno> ask_by(int fd, uint32_t port, const Request& request);

}  // namespace urxe::netlink
