// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/stat_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "packet/host/byte_lock.h"
#include "packet/host/random.h"
#include "packet/host/user_directory.h"

namespace urxe {
namespace {

constexpr const char* kFolder = "stat";
/// Names that begin so are files whose lock is not taken yet.
constexpr char kUnfinished = '.';
/// So many files are looked at, however many there are.
constexpr int kMostFiles = 4096;

struct Folder {
  FileDescriptor fd;
  std::string path;
};

/// Empty: there is none, and none can be made.
Folder open_folder(const std::string& place, IfMissing if_missing) {
  const auto directory = open_user_directory(place, if_missing);
  if (!directory) return {};
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

/// Calls `visit(name, fd)` for each file, open for reading. Those of processes that are gone are
/// removed.
template <class Visit>
void for_each_file(const Folder& folder, Visit visit) {
  const auto entries = list_directory(folder.fd.get());
  if (entries == nullptr) return;
  int seen = 0;
  while (const dirent* const entry = readdir(entries.get())) {
    if (entry->d_name[0] == kUnfinished) continue;
    if (++seen > kMostFiles) return;
    FileDescriptor fd(
        openat(folder.fd.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (is_byte_locked(fd.get(), kLastByte)) {
      visit(entry->d_name, std::move(fd));
    } else {
      unlinkat(folder.fd.get(), entry->d_name, 0);
    }
  }
}

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
    for_each_file(folder, [](const char*, const FileDescriptor&) {});
    if (StatFile file = make_file(folder); file.fd) return file;
  }
  return {};
}

std::vector<StatFile> open_stat_files() {
  std::vector<StatFile> files;
  for (const std::string& place : user_directory_places()) {
    const Folder folder = open_folder(place, IfMissing::kFail);
    if (!folder.fd) continue;
    for_each_file(folder, [&](const char* name, FileDescriptor fd) {
      files.push_back({std::move(fd), folder.path + "/" + name});
    });
  }
  return files;
}

}  // namespace urxe
