// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "packet/base/expected.h"

namespace urxe::analyze {

/// Whether `path` can become a new file: nothing has that name yet, not even a symbolic link that
/// leads nowhere, and its folder can be written. The error says what is wrong and what to do.
Expected<void, std::string> check_new_file(const std::string& path);

/// Writes a file that did not exist, whole or not at all: under another name in the same folder,
/// which it renames. Never replaces a file. The error is as above.
Expected<void, std::string> write_new_file(const std::string& path, std::string_view text);

}  // namespace urxe::analyze
