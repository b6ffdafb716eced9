// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/expected.h"

namespace urxe {

/// The whole of a file. Errors as open(2) and read(2).
Expected<std::string, Errno> read_file(const std::string& path);

/// Whether the error says that the system has no such thing or does not show it, and not that it
/// has failed or that the process lacks something.
bool is_not_offered(int errno_value);

}  // namespace urxe
