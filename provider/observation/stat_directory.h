// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/host/file_descriptor.h"

namespace urxe {

// The files of stat_page.h: in the folder "stat" of the user's directory (packet/host/), which
// nobody else can enter. A process holds a lock on its file, which the kernel frees when the
// process ends, however it does.

/// A file that this process has made.
struct StatFile {
  FileDescriptor fd;
  std::string path;
};

/// Makes an empty file for a device of this process, locked, and removes those of processes that
/// are gone. An empty descriptor: it cannot be made, for instance for want of room.
StatFile make_stat_file();

/// The files of all processes of the user that live, open for reading.
std::vector<StatFile> open_stat_files();

}  // namespace urxe
