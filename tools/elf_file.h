// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// The names of the libraries that an ELF file needs (DT_NEEDED); none if it is no 64-bit ELF file
/// or cannot be read.
std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace urxe
