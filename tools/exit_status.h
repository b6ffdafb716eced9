// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// Exit statuses of urxe's commands, beside those of the programs that they run.
inline constexpr int kBadInput = 2;
inline constexpr int kOurFailure = 125;

}  // namespace urxe
