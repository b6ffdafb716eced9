// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "packet/wire/ethernet/frame_match.h"

namespace urxe {

/// Makes a packet socket of an Ethernet interface receive only frames that somebody may want, in
/// the place of the filter that it had. Some frames come beside them, those that are too short for
/// all headers for instance; and all frames, if the kernel has no room for the filter.
Expected<void, Errno> attach_frame_filter(int fd, const FrameInterest& interest);

}  // namespace urxe
