// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "packet/host/byte_lock.h"
#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "packet/host/user_directory.h"
#include "provider/observation/stat_page.h"

namespace urxe {
namespace {

constexpr const char* kFolder = "stat";
/// Names that begin so are files whose lock is not taken yet.
constexpr char kUnfinished = '.';
/// Seconds. A file has its lock some microseconds after it was made.
constexpr int64_t kFinishedWithin = 60;
/// So many files are looked at, however many there are.
constexpr int kMostFiles = 4096;

struct Folder {
  FileDescriptor fd;
  std::string path;
};

bool lacks_descriptors() {
  return errno == EMFILE || errno == ENFILE;
}

/// Empty with errno: there is none, and none can be made.
Folder open_folder(const std::string& place, IfMissing if_missing) {
  const auto directory = open_user_directory(place, if_missing);
  if (!directory) {
    errno = directory.error().errno_value;
    return {};
  }
  const int parent = directory->fd.get();
  if (if_missing == IfMissing::kMake) mkdirat(parent, kFolder, 0700);
  Folder folder{
      FileDescriptor(openat(parent, kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      directory->path + "/" + kFolder};
  return folder;
}

std::string random_name() {
  char name[20];
  std::snprintf(name, sizeof name, "%016" PRIx64, secret_number());
  return name;
}

/// When the file of a process that has ended was last written, if it is to be kept.
std::optional<Instant> end_to_keep(int fd, Instant now) {
  StatHeader header;
  if (pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return {};
  if (header.magic != kStatMagic || header.record_bytes != sizeof(StatRecord)) return {};
  const Instant end{std::max(header.published_ns, header.ended_ns)};
  // A clock that has begun anew makes it seem to come.
  const bool is_recent = end.ns >= 0 && end <= now && now - end <= kEndedFileAge;
  return header.has_failures != 0 && is_recent ? std::optional(end) : std::nullopt;
}

/// Whether the process that was about to make the file has ended before it had.
bool is_unfinished_for_long(const struct stat& status) {
  return wall_clock_ns() / 1'000'000'000 - status.st_mtim.tv_sec > kFinishedWithin;
}

/// Sorts the files of a folder, and removes those that are not kept.
class Sweep {
 public:
  explicit Sweep(const Folder& folder) : folder_(folder), now_(clock_now()) {}

  void run() {
    const auto entries = list_directory(folder_.fd.get());
    if (entries == nullptr) {
      unopened_ += lacks_descriptors() ? 1 : 0;
      return;
    }
    int seen = 0;
    while (const dirent* const entry = readdir(entries.get())) {
      if (++seen > kMostFiles) break;
      take(entry->d_name);
    }
  }
  /// Moves the files to `all`, the newest of those that have ended first.
  void add_to(StatFiles& all) {
    all.unopened += unopened_;
    for (StatFile& file : live_) all.live.push_back(std::move(file));
    for (auto& [end, file] : ended_) all.ended.push_back(std::move(file));
  }

 private:
  void take(const char* name) {
    FileDescriptor fd(
        openat(folder_.fd.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && lacks_descriptors()) ++unopened_;
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const bool is_unfinished = name[0] == kUnfinished;
    if (is_unfinished && !is_unfinished_for_long(status)) return;
    const bool is_live = is_byte_locked(fd.get(), kLastByte);
    StatFile file{std::move(fd), folder_.path + "/" + name};
    if (is_live && !is_unfinished) {
      live_.push_back(std::move(file));
    } else if (const auto end = end_to_keep(file.fd.get(), now_); end && !is_unfinished) {
      keep(*end, std::move(file));
    } else if (!is_live) {
      unlink(file.path.c_str());
    }
  }
  void keep(Instant end, StatFile file) {
    ended_.emplace(end, std::move(file));
    if (ended_.size() <= kMostEndedFiles) return;
    unlink(std::prev(ended_.end())->second.path.c_str());
    ended_.erase(std::prev(ended_.end()));
  }

  const Folder& folder_;
  const Instant now_;
  size_t unopened_ = 0;
  std::vector<StatFile> live_;
  std::multimap<Instant, StatFile, std::greater<>> ended_;
};

StatFile make_file(const Folder& folder) {
  const std::string name = random_name();
  const std::string unfinished = kUnfinished + name;
  FileDescriptor fd(openat(folder.fd.get(), unfinished.c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return {};
  if (lock_byte(fd.get(), kLastByte, ByteLock::kExclusive) != 0 ||
      renameat(folder.fd.get(), unfinished.c_str(), folder.fd.get(), name.c_str()) != 0) {
    unlinkat(folder.fd.get(), unfinished.c_str(), 0);
    return {};
  }
  return {std::move(fd), folder.path + "/" + name};
}

}  // namespace

StatFile make_stat_file() {
  for (const std::string& place : user_directory_places()) {
    const Folder folder = open_folder(place, IfMissing::kMake);
    if (!folder.fd) continue;
    Sweep(folder).run();
    if (StatFile file = make_file(folder); file.fd) return file;
  }
  return {};
}

StatFiles open_stat_files(const std::vector<std::string>& more_places) {
  StatFiles files;
  std::vector<std::string> places = user_directory_places();
  places.insert(places.end(), more_places.begin(), more_places.end());
  std::set<std::pair<dev_t, ino_t>> known;
  for (const std::string& place : places) {
    const Folder folder = open_folder(place, IfMissing::kFail);
    if (!folder.fd && lacks_descriptors()) ++files.unopened;
    struct stat status {};
    if (!folder.fd || fstat(folder.fd.get(), &status) != 0) continue;
    if (!known.emplace(status.st_dev, status.st_ino).second) continue;
    Sweep sweep(folder);
    sweep.run();
    sweep.add_to(files);
  }
  return files;
}

}  // namespace urxe
