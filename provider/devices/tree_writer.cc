// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "packet/host/file_size.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// False with errno.
bool make_directories(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  errno = failed.value();
  return !failed;
}

/// Makes the directories on the way to it. False with errno.
bool write_file(const fs::path& path, std::string_view text) {
  if (!make_directories(path.parent_path())) return false;
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  errno = ENOSPC;  // if only a part is written
  bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                 fchmod(fd, 0444) == 0;
  return close(fd) == 0 && written;
}

/// Writes the files of a tree. Those with the same text, as most entries of GID tables are, are one
/// file with several names: each file takes a page of memory. Nobody changes a file in place. Empty
/// ones are files of their own, because processes lock them.
class FileWriter {
 public:
  explicit FileWriter(fs::path root) : root_(std::move(root)) {}
  /// False with errno.
  bool write(const std::string& path, const std::string& text) {
    const auto same = text.empty() ? written_.end() : written_.find(text);
    if (same == written_.end()) {
      written_.emplace(text, path);
      return write_file(root_ / path, text);
    }
    return make_directories((root_ / path).parent_path()) &&
           link((root_ / same->second).c_str(), (root_ / path).c_str()) == 0;
  }

 private:
  fs::path root_;
  std::map<std::string_view, std::string> written_;  ///< path by text
};

bool make_table(const fs::path& path, size_t size) {
  if (!may_grow_file_to(size)) {
    errno = EFBIG;
    return false;
  }
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool sized = ftruncate(fd, static_cast<off_t>(size)) == 0;
  return close(fd) == 0 && sized;
}

/// The directories of a tree, by their paths in it.
std::set<fs::path> directories_of(const TreeContent& content) {
  std::set<fs::path> directories{content.directories.begin(), content.directories.end()};
  const auto add_parents = [&](fs::path path) {
    while (path.has_relative_path()) {
      path = path.parent_path();
      directories.insert(path);
    }
  };
  for (const std::string& path : content.directories) add_parents(path);
  for (const auto& [path, text] : content.files) add_parents(path);
  for (const auto& [path, text] : content.state) add_parents(path);
  for (const auto& [path, target] : content.links) add_parents(path);
  for (const auto& [path, size] : content.tables) add_parents(path);
  return directories;
}

/// The directory around the tree keeps other users out. A process that holds the tree open and has
/// become another user still reads it, but must not be able to change it. False with errno.
bool let_all_read(const fs::path& root, const TreeContent& content) {
  return std::ranges::all_of(directories_of(content), [&](const fs::path& path) {
    return chmod((root / path).c_str(), 0755) == 0;
  });
}

/// The names of the links in a directory of the tree, by number: uverbs9 comes before uverbs10.
std::vector<std::string> numbered_links(const TreeContent& content, const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& [path, target] : content.links) {
    const fs::path link = path;
    if (link.parent_path() == directory) names.push_back(link.filename());
  }
  std::ranges::stable_sort(names, {}, &std::string::size);
  return names;
}

std::vector<std::string> links_as_listed(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  fs::directory_iterator at(directory, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    if (at->is_symlink(failed)) names.push_back(at->path().filename());
  }
  return names;
}

/// Makes readdir(3) return the links by number, if the file system returns them by age: tmpfs has
/// the newest first in some kernels, and last in others. libibverbs keeps that order, and programs
/// take the first device. False with errno.
bool list_by_number(const fs::path& root, const TreeContent& content,
                    const std::string& directory) {
  std::vector<std::string> names = numbered_links(content, directory);
  const std::vector<std::string> wanted = names;
  for (int attempt = 0; attempt < 2 && links_as_listed(root / directory) != wanted; ++attempt) {
    for (const std::string& name : names) {
      const fs::path path = fs::path(directory) / name;
      const fs::path link = root / path;
      const std::string& target = content.links.at(path);
      if (unlink(link.c_str()) != 0 || symlink(target.c_str(), link.c_str()) != 0) return false;
    }
    std::ranges::reverse(names);
  }
  return true;
}

}  // namespace

bool write_tree(const std::string& directory, const TreeContent& content) {
  const fs::path root = directory;
  for (const std::string& path : content.directories) {
    if (!make_directories(root / path)) return false;
  }
  FileWriter writer(root);
  for (const auto& [path, text] : content.files) {
    if (!writer.write(path, text)) return false;
  }
  for (const auto& [path, text] : content.state) {
    if (!writer.write(path, text)) return false;
  }
  for (const auto& [path, target] : content.links) {
    fs::path link = root / path;
    if (!make_directories(link.parent_path()) || symlink(target.c_str(), link.c_str()) != 0) {
      return false;
    }
  }
  for (const auto& [path, size] : content.tables) {
    if (!make_table(root / path, size)) return false;
  }
  if (!list_by_number(root, content, "sys/class/infiniband_verbs")) return false;
  return let_all_read(root, content);
}

}  // namespace urxe
