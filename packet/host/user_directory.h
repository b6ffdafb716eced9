// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// The user ID that the kernel reports for a user without a mapping in the user namespace.
inline constexpr uid_t kUnknownUser = 65534;

/// A directory that nobody but its user can enter: a real one that belongs to the user who was
/// effective when it was opened, with mode 0700, and that nobody else can move away or replace.
/// What has a path through it is therefore the user's.
struct UserDirectory {
  std::string path;
  FileDescriptor fd;
};

/// The directories in which to look for the user's directory, in this order: /dev/shm, /tmp,
/// /run/user/<uid>, $XDG_RUNTIME_DIR. Those that do not depend on the environment come first, so
/// that the processes of a login session and those of a service meet.
std::vector<std::string> user_directory_places();

/// Advice for the user if none of these will do.
inline constexpr const char* kHowToHaveADirectory =
    "What to do: mount a file system with room at /dev/shm (\"mount -t tmpfs -o mode=1777 tmpfs "
    "/dev/shm\", as root), or set XDG_RUNTIME_DIR to the absolute path of a directory that belongs "
    "to this user and has mode 0700";

enum class IfMissing : uint8_t { kFail, kMake };

/// Opens the user's directory in `place`: "urxe" if nobody else can write to `place`; otherwise
/// "urxe-<uid>" or, if another user was there first, "urxe-<uid>-" and a random number: all
/// processes of the user find the same one, because no other user can make one that belongs to
/// them. ENOENT: there is none; EACCES: what is there is not the user's alone, or others could
/// replace it; otherwise as mkdir(2) and open(2).
Expected<UserDirectory, EngineError> open_user_directory(const std::string& place,
                                                         IfMissing if_missing);

/// The entries of an open directory, for readdir(3). Null with errno.
using DirectoryList = std::unique_ptr<DIR, int (*)(DIR*)>;
DirectoryList list_directory(int directory);

}  // namespace urxe
