// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// The names of the libraries that an ELF file needs (DT_NEEDED); none if it is no 64-bit ELF file
/// or cannot be read.
std::vector<std::string> needed_libraries(const std::string& path);

/// What a file lacks that should be a shared object of this machine, as far as its headers tell:
/// "it is no ELF file". Empty: nothing. The dynamic linker maps one that is cut off, and the
/// program dies.
std::string damage_of_shared_object(const std::string& path);

/// Whether the file is a dynamic linker, as far as its headers tell: a shared object that asks for
/// none, and no position-independent program.
bool is_dynamic_linker(const std::string& path);

}  // namespace urxe
