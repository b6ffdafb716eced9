// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "provider/umad/service.h"

namespace urxe::umad {

/// What a program asks for when it registers an agent.
struct Registration {
  uint32_t qpn = 1;
  MadAgentKey key;  ///< with the OUI that was given, for any class
  MadMethods methods{};
  uint8_t rmpp_version = 0;
  bool does_rmpp_itself = false;  ///< IB_USER_MAD_USER_RMPP
};

/// Whether MADs of the class may be segments of a longer one.
bool has_rmpp(uint8_t management_class);

/// Whether Linux allows such an agent on a port that has QP0, too: libibmad's programs register one
/// for SMPs that they do not need, and end if that is refused. EINVAL.
Expected<void, Errno> check(const Registration& registration);

/// Carries out an ioctl() on the file: registers and unregisters agents, enables P_Key indexes.
/// ENOTTY: another request; EFAULT; EINVAL and ENOMEM as Linux.
Expected<void, Errno> command(Service& service, UmadFile& file, unsigned long request,
                              void* argument);

}  // namespace urxe::umad
