// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "packet/wire/cm/mad.h"
#include "provider/devices/device_file.h"
#include "provider/umad/lids.h"

namespace urxe::umad {

/// RoCE has no subnet administration. For programs that look a peer up there this stands in, in
/// their own process: the response to a request of the class SubnAdm (IBTA vol. 1, 15.2). It knows
/// the path to any GID of a kind that the device has itself, which means nothing for whether there
/// is such a peer; the record's LID stands for that GID in `lids`. Other requests get the status
/// "unsupported". nullopt: no response is due. Throws std::bad_alloc.
std::optional<MadBytes> answer_subnet_administration(MadView request,
                                                     const DeviceDescription& device, Lids& lids);

}  // namespace urxe::umad
