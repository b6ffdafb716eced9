// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "packet/base/fnv.h"
#include "packet/host/file_size.h"
#include "packet/host/user_directory.h"
#include "provider/devices/leftovers.h"
#include "provider/devices/stale_trees.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// Part of every tree's name: trees of another layout are other trees.
constexpr std::string_view kLayout = "urxe-tree-5";

Unexpected<std::string> failure(const std::string& what) {
  return Unexpected<std::string>(what + ": " + std::strerror(errno));
}

/// The hash of `text` after what `hash` stands for, set off from what follows.
uint64_t add_text(std::string_view text, uint64_t hash) {
  return fnv1a("\xff", fnv1a(text, hash));
}

uint64_t hash_content(const TreeContent& content) {
  uint64_t hash = add_text(kLayout, kFnvBasis);
  for (const auto& [path, text] : content.files) hash = add_text(text, add_text(path, hash));
  for (const auto& [path, text] : content.state) hash = add_text(path, hash);
  for (const auto& [path, target] : content.links) hash = add_text(target, add_text(path, hash));
  for (const auto& [path, size] : content.tables) hash = add_text(path, hash ^ size);
  return hash;
}

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

/// False with errno.
bool write_tree(const fs::path& root, const TreeContent& content) {
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

bool is_file(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool has_size(const fs::path& path, size_t size) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_size == static_cast<off_t>(size);
}

/// Whether a published tree is complete: programs that clean up /tmp may have removed files.
bool is_whole(const fs::path& root, const TreeContent& content) {
  for (const auto& [path, text] : content.files) {
    if (!has_size(root / path, text.size())) return false;
  }
  for (const auto& [path, text] : content.state) {
    if (!is_file(root / path)) return false;
  }
  for (const auto& [path, target] : content.links) {
    if (!has_size(root / path, target.size())) return false;
  }
  for (const auto& [path, size] : content.tables) {
    if (!has_size(root / path, size)) return false;
  }
  return true;
}

void remove_tree(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool refresh(const fs::path& tree) {
  return utimensat(AT_FDCWD, tree.c_str(), nullptr, 0) == 0;
}

/// Moves a damaged tree out of the way. Processes that use it lose nothing that still worked.
void set_aside(const std::string& runtime_directory, const fs::path& tree) {
  std::string aside = fmt::format("{}/{}XXXXXX", runtime_directory, kDamagedTree);
  if (mkdtemp(aside.data()) == nullptr) return;
  if (std::rename(tree.c_str(), aside.c_str()) != 0) remove_tree(aside);
}

}  // namespace

Expected<std::string, std::string> publish_tree(const std::string& runtime_directory,
                                                const NetworkNamespace& netns,
                                                TreeContent content) {
  content.files[kTreeNetworkFile] = netns.identity;
  content.files[kTreeProcessesFile] = netns.pid_namespace;
  std::string tree = fmt::format("{}/{}{:016x}", runtime_directory, tree_name_prefix(netns),
                                 hash_content(content));
  if (refresh(tree)) {
    if (is_whole(tree, content)) return tree;
    set_aside(runtime_directory, tree);
  }
  const Draft made(runtime_directory);
  const std::string& draft = made.path();
  if (draft.empty()) return failure(runtime_directory);
  if (!write_tree(draft, content)) {
    auto error = failure(draft);
    remove_tree(draft);
    return error;
  }
  if (std::rename(draft.c_str(), tree.c_str()) == 0) return tree;
  bool is_there = errno == EEXIST || errno == ENOTEMPTY;
  auto error = failure(tree);
  remove_tree(draft);
  if (is_there) return tree;
  return error;
}

namespace {

/// Stale trees may be what takes the room.
Expected<std::string, std::string> publish_and_clean_up(const std::string& runtime_directory,
                                                        const NetworkNamespace& netns,
                                                        const TreeContent& content) {
  auto tree = publish_tree(runtime_directory, netns, content);
  remove_leftovers(runtime_directory);
  remove_stale_trees(runtime_directory, netns);
  return tree ? tree : publish_tree(runtime_directory, netns, content);
}

/// Without symbolic links, as the kernel names open files, which programs compare with it.
std::string real_path(const std::string& path) {
  std::error_code failed;
  const auto real = fs::canonical(path, failed);
  return failed ? path : real.string();
}

}  // namespace

std::vector<std::string> runtime_directory_places() {
  std::vector<std::string> places = user_directory_places();
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr) {
    std::stable_partition(places.begin(), places.end(),
                          [&](const std::string& p) { return p == runtime; });
  }
  return places;
}

Expected<std::string, std::string> publish_tree_in(const std::vector<std::string>& places,
                                                   const NetworkNamespace& netns,
                                                   const TreeContent& content) {
  std::string reasons;
  for (const std::string& place : places) {
    auto directory = open_user_directory(place, IfMissing::kMake);
    auto tree = directory ? publish_and_clean_up(real_path(directory->path), netns, content)
                          : Unexpected<std::string>(directory.error().what);
    if (tree) return tree;
    reasons += (reasons.empty() ? "" : "; ") + tree.error();
  }
  return Unexpected<std::string>("no directory for the description of the devices: " + reasons);
}

}  // namespace urxe
