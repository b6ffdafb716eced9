// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe::top {

/// A sentence on why the screen cannot be drawn on this terminal; empty: it can.
std::string check_terminal();

}  // namespace urxe::top
