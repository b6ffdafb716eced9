// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/user_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "packet/host/pause.h"
#include "packet/host/random.h"

namespace urxe {
namespace {

/// Other users can hold this lock, too, so nobody waits for it for long.
constexpr int kLockAttempts = 200;
constexpr timespec kLockPause{0, 1000000};

Unexpected<EngineError> failure(int errno_value, const std::string& what) {
  return Unexpected<EngineError>({errno_value, what});
}

Unexpected<EngineError> failed_call(const std::string& path) {
  const int errno_value = errno;
  return failure(errno_value, path + ": " + std::strerror(errno_value));
}

/// The directory that the user's own lies in.
struct Place {
  std::string path;
  FileDescriptor fd;
  bool is_private = false;  ///< nobody else can write to it
};

Expected<Place, EngineError> open_place(const std::string& path) {
  Place place{path, FileDescriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
  struct stat status {};
  if (!place.fd || fstat(place.fd.get(), &status) != 0) return failed_call(path);
  const bool others_write = (status.st_mode & 022) != 0;
  const bool sticky = (status.st_mode & S_ISVTX) != 0;
  const bool is_known_owner = status.st_uid == 0 || status.st_uid == geteuid();
  if (!is_known_owner && (status.st_uid != kUnknownUser || !sticky)) {
    return failure(EACCES, path + " belongs to another user");
  }
  if (others_write && !sticky) return failure(EACCES, path + " lets others replace what is in it");
  place.is_private = !others_write && status.st_uid == geteuid();
  return place;
}

Expected<UserDirectory, EngineError> open_own(const Place& place, const std::string& name,
                                              IfMissing if_missing) {
  const std::string path = place.path + "/" + name;
  if (if_missing == IfMissing::kMake) {
    if (mkdirat(place.fd.get(), name.c_str(), 0700) == 0) {
      fchmodat(place.fd.get(), name.c_str(), 0700, 0);  // whatever the umask is
    } else if (errno != EEXIST) {
      return failed_call(path);
    }
  }
  FileDescriptor fd(openat(place.fd.get(), name.c_str(),
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd && errno == EACCES) return failure(EACCES, path + " belongs to another user");
  if (!fd && (errno == ENOTDIR || errno == ELOOP)) {
    return failure(EACCES, path + " is not a directory");
  }
  if (!fd || fstat(fd.get(), &status) != 0) return failed_call(path);
  if (status.st_uid != geteuid()) return failure(EACCES, path + " belongs to another user");
  if ((status.st_mode & 077) != 0) {
    return failure(EACCES, path + " is open to other users (it must have mode 0700)");
  }
  // Only the owner may do this. In a user namespace, owners that it does not know all look alike.
  if (fchmod(fd.get(), 0700) != 0) return failed_call(path);
  return UserDirectory{path, std::move(fd)};
}

/// The first by name of the user's directories whose names begin with `prefix`.
Expected<UserDirectory, EngineError> find_own(const Place& place, const std::string& prefix) {
  const auto entries = list_directory(place.fd.get());
  if (entries == nullptr) return failed_call(place.path);
  std::string first;
  while (const dirent* const entry = readdir(entries.get())) {
    if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
    const std::string name = entry->d_name;
    if (!name.starts_with(prefix) || (!first.empty() && name >= first)) continue;
    if (open_own(place, name, IfMissing::kFail)) first = name;
  }
  if (first.empty()) return failure(ENOENT, place.path + "/" + prefix + "*: none is the user's");
  return open_own(place, first, IfMissing::kFail);
}

/// For as long as it exists no other process that takes it makes a directory in the place, unless
/// somebody keeps it for no reason.
class PlaceLock {
 public:
  explicit PlaceLock(const Place& place) : fd_(place.fd.get()) {
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
      if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
      pause_for(kLockPause);
    }
  }
  ~PlaceLock() { flock(fd_, LOCK_UN); }
  PlaceLock(const PlaceLock&) = delete;
  PlaceLock& operator=(const PlaceLock&) = delete;

 private:
  int fd_;
};

bool is_missing(const EngineError& why) {
  return why.errno_value == ENOENT;
}

/// Whether the name is taken by something that is not the user's.
bool is_anothers(const EngineError& why) {
  return why.errno_value == EACCES || why.errno_value == EPERM;
}

std::string random_suffix() {
  char text[20];
  std::snprintf(text, sizeof text, "%016" PRIx64, secret_number());
  return text;
}

}  // namespace

DirectoryList list_directory(int directory) {
  FileDescriptor fd(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryList list(fd ? fdopendir(fd.get()) : nullptr, closedir);
  if (list != nullptr) (void)fd.release();
  return list;
}

std::vector<std::string> user_directory_places() {
  std::vector<std::string> places{"/dev/shm", "/tmp", "/run/user/" + std::to_string(geteuid())};
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' &&
      std::ranges::find(places, runtime) == places.end()) {
    places.emplace_back(runtime);
  }
  return places;
}

Expected<UserDirectory, EngineError> open_user_directory(const std::string& path,
                                                         IfMissing if_missing) {
  const auto place = open_place(path);
  if (!place) return Unexpected<EngineError>(place.error());
  if (place->is_private) return open_own(*place, "urxe", if_missing);
  const std::string name = "urxe-" + std::to_string(geteuid());
  auto own = open_own(*place, name, IfMissing::kFail);
  if (own || !(is_missing(own.error()) || is_anothers(own.error()))) return own;
  // One with a random number may be there even if the plain name is free by now.
  auto other = find_own(*place, name + "-");
  if (other || !is_missing(other.error())) return other;
  if (if_missing == IfMissing::kFail) return own;
  auto made = open_own(*place, name, IfMissing::kMake);
  if (made || !is_anothers(made.error())) return made;
  const PlaceLock lock(*place);
  other = find_own(*place, name + "-");
  if (other || !is_missing(other.error())) return other;
  return open_own(*place, name + "-" + random_suffix(), IfMissing::kMake);
}

}  // namespace urxe
