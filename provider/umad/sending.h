// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "provider/umad/service.h"

namespace urxe::umad {

/// Carries out a write() to the file: one MAD, with its header. Returns the length.
///
/// With a GRH the MAD goes to its GID. Without one it goes to the GID that the LID stands for; the
/// LID 0 is the port itself, whose performance management answers, as for its own GIDs. A request
/// of the class SubnAdm without a GRH is answered here, whatever its LID.
///
/// EINVAL: the length, the agent's number, the queue pair 0, or a transaction id that is in use;
/// EIO: there is no such agent; EOPNOTSUPP: an SMP, or a segment of several (RMPP); EHOSTUNREACH:
/// the LID stands for nobody; ENETUNREACH: the device has no GID of the destination's kind; EFAULT;
/// ENOMEM; the errors of Service::attach().
Expected<size_t, Errno> send_mad(Service& service, UmadFile& file, const void* buffer,
                                 size_t length);

}  // namespace urxe::umad
