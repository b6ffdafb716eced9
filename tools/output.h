// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// For the end of a command: writes out what is left of stdout. Returns `status`, or, after a line
/// on stderr, kOurFailure if anything printed was lost, as on a full disk: scripts must notice.
int finish_output(int status);

}  // namespace urxe
