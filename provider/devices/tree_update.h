// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "provider/devices/device_file.h"

/// A published tree follows its interfaces: `urxe run` and every process that has a device open
/// replace the files whose text has changed, one at a time. A process that does so holds
/// <tree>/lock (flock); processes that have a device open hold <tree>/users (fcntl, shared).
namespace urxe {

/// Marks the tree's devices as used until the descriptor and all its copies are closed. Returns no
/// descriptor if the file cannot be locked.
FileDescriptor hold_tree(const std::string& tree);

/// Whether the tree is for the calling thread's network namespace.
bool is_of_this_namespace(const std::string& tree);

/// Brings the tree up to date with the interfaces of the calling thread's network namespace, and
/// returns its devices. A GID keeps its index as long as its interface has it; if no process uses
/// the tree the GIDs are sorted again. If the tree cannot be written, the devices are returned
/// anyway. The error is a sentence for the user: the interfaces cannot be listed, or the tree is
/// another network namespace's. Safe among threads and processes.
Expected<std::vector<DeviceDescription>, std::string> update_tree(const std::string& tree);

}  // namespace urxe
