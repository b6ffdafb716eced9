// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::umad {

/// Gives the presence object the hooks for umad nodes. Does nothing without that object.
void install() noexcept;

}  // namespace urxe::umad
