// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

// Files that the processes of the effective user in one network namespace map to share memory.

/// The number of the calling thread's network namespace, as in "net:[4026531840]". The kernel may
/// reuse it after the namespace has ended. nullopt if it cannot be found out.
std::optional<uint64_t> network_namespace_number();

/// Opens the file, or creates an empty one. EACCES: it is not a regular file that only the
/// effective user may open; otherwise errors as open(2).
Expected<FileDescriptor, Errno> open_own_file(const std::string& path);

/// Calls `use` with each candidate path of the user's file `name` for the network namespace, until
/// it returns true. Returns false if it never does.
bool try_user_files(uint64_t network_namespace, const std::string& name,
                    const std::function<bool(const std::string& path)>& use);

}  // namespace urxe
