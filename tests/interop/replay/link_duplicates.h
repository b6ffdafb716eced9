// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/interop/replay/frame.h"

namespace urxe::replay {

/// The sequence without what the link has doubled. A packet that is sent again has another IPv4
/// identification, if the sender gives them at all; its double has the same.
Frames without_link_duplicates(const Frames& recorded);

}  // namespace urxe::replay
