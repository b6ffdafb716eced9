// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// A copy of the devices' files in /sys, as programs under `urxe run` see them, with the values of
/// the counters. It is for programs that the preloaded object does not reach: those that make raw
/// system calls, as programs in Go do, and static ones. Used by one thread.
class SysfsCopy {
 public:
  /// Begins a copy of `tree` (what URXE_TREE names) in `folder`, which is made if it does not
  /// exist. Otherwise it must be empty or hold an earlier copy, belong to the caller, not be
  /// writable by all users, and not be written by another process. Folders of the earlier copy that
  /// are in the new one stay: they may be mounted. The error is a sentence for the user.
  static Expected<SysfsCopy, std::string> begin(std::string tree, std::string folder);

  /// Writes what has changed. A file changes as a whole. The error is a sentence for the user.
  Expected<void, std::string> update();

 private:
  SysfsCopy(std::string tree, std::string folder, FileDescriptor lock)
      : tree_(std::move(tree)), folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::string tree_;
  std::string folder_;
  FileDescriptor lock_;
  /// Below the folder: files with their texts, links with their targets, and folders. nullopt: of
  /// an earlier copy.
  std::map<std::string, std::optional<std::string>> written_;
};

}  // namespace urxe
