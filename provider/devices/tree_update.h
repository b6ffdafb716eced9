// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "provider/devices/device_file.h"

/// A published tree follows its interfaces: `urxe run` and every process that has a device open
/// look at them and replace the files whose text has changed, one at a time. <tree>/lock is locked
/// (flock) by whoever does so, <tree>/users (fcntl, shared) by processes that have a device open.
namespace urxe {

/// Says that this process uses the tree's devices, until the descriptor and all copies of it are
/// closed. Without a descriptor where the file cannot be locked.
FileDescriptor hold_tree(const std::string& tree);

/// Whether the tree is for the calling thread's network namespace.
bool is_of_this_namespace(const std::string& tree);

/// Makes the tree say what the interfaces of the calling thread's network namespace are like now,
/// and returns its devices. A GID keeps its index as long as its interface has it; where nobody
/// uses the tree the GIDs are put in order again. Where the tree cannot be written the answer is
/// what it ought to say. The error is a sentence for the user: the interfaces cannot be listed, or
/// the tree is another network namespace's. Thread-safe, and among processes.
Expected<std::vector<DeviceDescription>, std::string> update_tree(const std::string& tree);

}  // namespace urxe
