// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "packet/host/file_descriptor.h"

namespace urxe {

/// How the names of damaged trees begin, which programs may still read: they stay for a day.
inline constexpr std::string_view kDamagedTree = ".tmp-aside-";

/// A new directory in the user's directory that is locked until it has its name: so others can tell
/// whether the process that writes it lives.
class Draft {
 public:
  /// Its path() is empty, with errno, if it cannot be made.
  explicit Draft(const std::string& directory);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] bool lock();
  std::string path_;
  FileDescriptor fd_;
};

/// Removes from the user's directory what processes have left there that were killed: drafts, and
/// the files and sockets of the engine dpdk.
void remove_leftovers(const std::string& directory);

}  // namespace urxe
