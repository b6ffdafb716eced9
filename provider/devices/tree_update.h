// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
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

/// Whether some process holds the tree.
bool has_users(const std::string& tree);

/// Whether the tree is for the calling thread's network namespace. The error says why nobody knows.
Expected<bool, std::string> is_of_this_namespace(const std::string& tree);

/// The devices of a tree as their interfaces are.
struct TreeUpdate {
  std::vector<DeviceDescription> devices;
  /// Another process has kept the lock for so long that the tree was left as it is. The indexes of
  /// new GIDs may not be those that the other processes see; a later update settles them.
  bool was_locked_out = false;
  /// The tree could not be written, and has older devices than these.
  bool is_ahead = false;
  /// What was missing for that may be there later: room, memory or descriptors.
  bool may_be_written_later = false;
};

/// Brings the tree up to date with the interfaces of the calling thread's network namespace, and
/// returns its devices. A GID keeps its index as long as its interface has it; if no process uses
/// the tree the GIDs are sorted again. If the tree cannot be written, the devices are returned
/// anyway. The error is a sentence for the user: the interfaces cannot be listed, or the tree is
/// another network namespace's. Safe among threads and processes.
///
/// Devices without an interface of the kernel keep what they have; `links` tells whether the link
/// of one is up, by name. While no process uses the tree, nobody knows, and it counts as up.
Expected<TreeUpdate, std::string> update_tree(const std::string& tree,
                                              const std::map<std::string, bool>& links = {});

}  // namespace urxe
