// SPDX-License-Identifier: BSD-2-Clause
#include "tools/sysfs_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "packet/host/file_descriptor.h"
#include "provider/devices/counter_sums.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// Marks a folder as a copy; locked by the process that writes it.
constexpr const char* kMark = ".urxe-sysfs";
constexpr mode_t kMarkMode = 0600;     // no other user can lock it
constexpr size_t kLongestText = 4096;  // of a file in sysfs: a page
constexpr mode_t kFileMode = 0644;
constexpr mode_t kFolderMode = 0755;

using Sums = std::map<std::string, std::optional<CounterSums>>;

Unexpected<std::string> failure(const std::string& path, int error) {
  return Unexpected<std::string>(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

/// nullopt: the file is gone.
std::optional<std::string> read_text(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text(kLongestText, '\0');
  const ssize_t size = fd ? read(fd.get(), text.data(), text.size()) : -1;
  if (size < 0) return std::nullopt;
  text.resize(static_cast<size_t>(size));
  return text;
}

/// In place of the file that may be there. Returns 0 or an errno value.
int replace_file(const std::string& path, const std::string& text) {
  const std::string made = path + ".new";
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const FileDescriptor fd(open(made.c_str(), kFlags, kFileMode));
  if (!fd) return errno;
  const ssize_t size = write(fd.get(), text.data(), text.size());
  if (size < 0) return errno;
  if (static_cast<size_t>(size) != text.size()) return ENOSPC;
  return rename(made.c_str(), path.c_str()) == 0 ? 0 : errno;
}

/// The device whose file it is: `path` is devices/urxe/ADDRESS/infiniband/DEVICE/... below sys.
std::string device_of(const fs::path& path) {
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (*part == "infiniband" && std::next(part) != path.end()) return std::next(part)->string();
  }
  return "";
}

/// The text of a file in the copy. A counter, which is "@COLUMN" in the tree, has its value.
/// nullopt: programs under `urxe run` cannot read the file, which is "!" in the tree.
std::optional<std::string> text_of(const std::string& tree, const fs::path& path,
                                   const std::string& text, Sums& sums) {
  if (text.starts_with('!')) return std::nullopt;
  if (!text.starts_with('@')) return text;
  size_t column = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), column);
  if (error != std::errc() || column >= kCounterColumns) return std::nullopt;
  const std::string device = device_of(path.lexically_relative(fs::path(tree) / "sys"));
  auto at = sums.find(device);
  if (at == sums.end()) at = sums.emplace(device, read_counter_sums(tree, device)).first;
  if (!at->second) return std::nullopt;
  return fmt::format("{}\n", (*at->second)[column]);
}

/// What the copy has of the entry: the text of a file, the target of a link, nothing of a folder.
/// nullopt: it is left out.
std::optional<std::string> text_at(const std::string& tree, const fs::directory_entry& entry,
                                   Sums& sums) {
  std::error_code error;
  if (entry.is_symlink(error)) return fs::read_symlink(entry.path(), error).string();
  if (entry.is_directory(error)) return "";
  const auto text = read_text(entry.path().string());
  return text ? text_of(tree, entry.path(), *text, sums) : std::nullopt;
}

bool is_of_kind(const fs::directory_entry& entry, const std::string& to) {
  std::error_code error;
  return fs::symlink_status(to, error).type() == entry.symlink_status(error).type();
}

/// Returns 0 or an errno value.
int write_entry(const fs::directory_entry& entry, const std::string& to, const std::string& text) {
  std::error_code error;
  if (!is_of_kind(entry, to)) fs::remove_all(to, error);
  if (entry.is_symlink(error)) {
    fs::remove(to, error);
    fs::create_symlink(text, to, error);
    return error.value();
  }
  if (entry.is_directory(error)) {
    return mkdir(to.c_str(), kFolderMode) == 0 || errno == EEXIST ? 0 : errno;
  }
  return replace_file(to, text);
}

/// Returns why the folder cannot take a copy; empty if it can.
std::string check_folder(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is no folder";
  if (status.st_uid != geteuid()) return "it is another user's";
  if ((status.st_mode & S_IWOTH) != 0) return "other users can write to it";
  std::error_code error;
  const bool is_copy = fs::exists(fs::path(folder) / kMark, error);
  if (!is_copy && !fs::is_empty(folder, error)) {
    return "it has other files; name a folder that does not exist, or is empty";
  }
  return error ? error.message() : "";
}

/// Puts the mark there and locks it. The error is a sentence for the user.
Expected<FileDescriptor, std::string> lock_folder(const std::string& folder) {
  const std::string mark = (fs::path(folder) / kMark).string();
  FileDescriptor fd(open(mark.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMarkMode));
  if (!fd || fchmod(fd.get(), kMarkMode) != 0) return failure(mark, errno);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return failure(mark, errno);
  return Unexpected<std::string>(
      fmt::format("--sysfs {}: another `urxe devices --sysfs` writes to it", folder));
}

/// The names below the folder.
std::map<std::string, std::optional<std::string>> entries_of(const std::string& folder) {
  std::map<std::string, std::optional<std::string>> entries;
  std::error_code error;
  for (const char* const below : {"class", "devices"}) {
    fs::recursive_directory_iterator at(fs::path(folder) / below, error);
    for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
      entries.emplace(at->path().lexically_relative(folder).string(), std::nullopt);
    }
  }
  return entries;
}

}  // namespace

Expected<SysfsCopy, std::string> SysfsCopy::begin(std::string tree, std::string folder) {
  mkdir(folder.c_str(), kFolderMode);  // check_folder() says why there is none
  if (const std::string wrong = check_folder(folder); !wrong.empty()) {
    return Unexpected<std::string>(fmt::format("--sysfs {}: {}", folder, wrong));
  }
  auto lock = lock_folder(folder);
  if (!lock) return Unexpected<std::string>(lock.error());
  SysfsCopy copy(std::move(tree), std::move(folder), *std::move(lock));
  copy.written_ = entries_of(copy.folder_);
  return copy;
}

Expected<void, std::string> SysfsCopy::update() {
  const fs::path root = fs::path(tree_) / "sys";
  decltype(written_) now;
  Sums sums;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(root).string();
    const std::string to = (fs::path(folder_) / name).string();
    const auto text = text_at(tree_, *at, sums);
    if (!text) continue;
    const auto before = written_.find(name);
    const bool is_there = before != written_.end() && before->second == *text;
    const int failed = is_there ? 0 : write_entry(*at, to, *text);
    if (failed != 0) return failure(to, failed);
    now.emplace(name, text);
  }
  if (error) {
    return Unexpected<std::string>(
        fmt::format("cannot read {}: {}", root.string(), error.message()));
  }
  // What is in a folder comes behind it.
  for (auto old = written_.rbegin(); old != written_.rend(); ++old) {
    if (!now.contains(old->first)) fs::remove(fs::path(folder_) / old->first, error);
  }
  written_ = std::move(now);
  return {};
}

}  // namespace urxe
