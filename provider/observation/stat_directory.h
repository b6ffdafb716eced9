// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

// The files of stat_page.h: in the folder "stat" of the user's directory (packet/host/), which
// nobody else can enter. A process holds a lock on its file, which the kernel frees when the
// process ends, however it does. The files of processes that have ended go, but for those that tell
// of a failure: the newest kMostEndedFiles are kept, no longer than kEndedFileAge.

inline constexpr size_t kMostEndedFiles = 16;
inline constexpr Duration kEndedFileAge = seconds(600);

/// A file that this process has made.
struct StatFile {
  FileDescriptor fd;
  std::string path;
};

/// Makes an empty file for a device of this process, locked, and removes those that are not kept.
/// An empty descriptor: it cannot be made, for instance for want of room.
StatFile make_stat_file();

/// The files of all processes of the user, open for reading. Removes those that are not kept.
struct StatFiles {
  std::vector<StatFile> live;
  std::vector<StatFile> ended;
  size_t unopened = 0;  ///< files and folders for which this process lacks descriptors
};
/// `more_places`: beside user_directory_places(), for files of processes that have others. A folder
/// that several paths lead to counts once.
StatFiles open_stat_files(const std::vector<std::string>& more_places = {});

}  // namespace urxe
