// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <string>
#include <utility>

#include "packet/base/expected.h"

namespace urxe {

/// A folder with what programs under `urxe run` see in /sys of the devices, and with the values of
/// the counters, for programs that the preloaded object does not reach: those that make raw system
/// calls, as programs in Go do, and static ones. Used by one thread.
class SysfsCopy {
 public:
  /// Begins a copy of `tree` (what URXE_TREE names) in `folder`, which does not exist, is empty, or
  /// has a copy from before. The error is a sentence for the user.
  static Expected<SysfsCopy, std::string> begin(std::string tree, std::string folder);

  /// Writes what has changed. A file changes as a whole. The error is a sentence for the user.
  Expected<void, std::string> update();

 private:
  SysfsCopy(std::string tree, std::string folder)
      : tree_(std::move(tree)), folder_(std::move(folder)) {}

  std::string tree_;
  std::string folder_;
  /// Below the folder: files with their texts, links with their targets, and folders.
  std::map<std::string, std::string> written_;
};

}  // namespace urxe
