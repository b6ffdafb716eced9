// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/user_directory.h"
#include "packet/sharing/directory/slot_marks.h"

namespace urxe {

/// A directory inside a UserDirectory for the processes that share one network namespace. It is
/// open to all who can reach it, which are those that opened it as that user: they keep their
/// rights if they become another user. Its files are made with it, and have their space from then
/// on:
///   locks    empty; see SharingDirectory
///   slots    a SlotTable
///   held     the memory of a HolderTable
struct NetworkDirectory {
  std::string name;
  std::string path;  ///< empty: it has none here; another process has handed it over
  FileDescriptor fd;
  /// The file "locks", whose first byte it locks (shared): the directory is in use.
  FileDescriptor locks;
  SlotMarks marks;
};

/// Opens the directory of the network namespace with that network_identity(). kMake: makes it if
/// there is none, with all its files or not at all, and removes those that nobody has used for a
/// while. ENOENT: there is none; ENOSPC: there is no room for the files; EBUSY: a process that was
/// stopped is in the way (after some seconds); otherwise as open(2).
Expected<NetworkDirectory, EngineError> open_network_directory(const UserDirectory& user,
                                                               const std::string& network,
                                                               IfMissing if_missing);

/// Opens the one with that name.
Expected<NetworkDirectory, EngineError> reopen_network_directory(const UserDirectory& user,
                                                                 const std::string& name);
/// Makes use of one that a process of the user has handed over. ENOENT: it was removed.
Expected<NetworkDirectory, EngineError> adopt_network_directory(FileDescriptor fd,
                                                                const std::string& name);

/// The name of such a directory is "net", the layout of its files, "-", the identity, '.', and a
/// random number, by which one that was removed differs from one that was made later.
std::string network_directory_prefix(const std::string& network);

}  // namespace urxe
