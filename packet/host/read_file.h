// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/expected.h"

namespace urxe {

/// The whole of a file. Errors as open(2) and read(2).
Expected<std::string, Errno> read_file(const std::string& path);

}  // namespace urxe
