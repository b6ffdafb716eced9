// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

// Files that the effective user's processes in one network namespace share, mapped into memory.

/// The number of the calling thread's network namespace, as in "net:[4026531840]"; used again when
/// the namespace is gone. nullopt: cannot be told.
std::optional<uint64_t> network_namespace_number();

/// Opens the file or makes an empty one. EACCES: it is not a regular file of the effective user
/// alone; what open(2) says.
Expected<FileDescriptor, Errno> open_own_file(const std::string& path);

/// Tells `use` the paths where the user's file of that name for the network namespace may be, one
/// after the other, until it says that it has done with one. False: it never does.
bool try_user_files(uint64_t network_namespace, const std::string& name,
                    const std::function<bool(const std::string& path)>& use);

}  // namespace urxe
