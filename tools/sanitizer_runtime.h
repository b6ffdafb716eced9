// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// The run-time library of a sanitizer that the program needs, by the name that its ELF file has
/// for it ("libasan.so.8"); empty if it needs none, is no 64-bit ELF file, or cannot be read. Such
/// a library must be loaded before all others. `program` is what execvp() takes; for a script, the
/// interpreter is looked at. A library that only other libraries need is not found.
std::string find_sanitizer_runtime(const std::string& program);

}  // namespace urxe
