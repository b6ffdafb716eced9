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
#include <string_view>
#include <utility>
#include <vector>

#include "packet/base/fnv.h"
#include "packet/host/user_directory.h"
#include "provider/devices/leftovers.h"
#include "provider/devices/stale_trees.h"
#include "provider/devices/tree_writer.h"

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

void add_namespaces(TreeContent& content, const NetworkNamespace& netns) {
  content.files[kTreeNetworkFile] = netns.identity;
  content.files[kTreeProcessesFile] = netns.pid_namespace;
}

std::string path_of_tree(const std::string& runtime_directory, const NetworkNamespace& netns,
                         const TreeContent& content) {
  return fmt::format("{}/{}{:016x}", runtime_directory, tree_name_prefix(netns),
                     hash_content(content));
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
  add_namespaces(content, netns);
  std::string tree = path_of_tree(runtime_directory, netns, content);
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

void clean_up(const std::string& runtime_directory, const NetworkNamespace& netns) {
  remove_leftovers(runtime_directory);
  remove_stale_trees(runtime_directory, netns);
}

/// Stale trees may be what takes the room.
Expected<std::string, std::string> publish_or_clean_up(const std::string& runtime_directory,
                                                       const NetworkNamespace& netns,
                                                       const TreeContent& content) {
  auto tree = publish_tree(runtime_directory, netns, content);
  if (tree) return tree;
  clean_up(runtime_directory, netns);
  return publish_tree(runtime_directory, netns, content);
}

/// Where trees may lie that found no room in the first place at the time.
void clean_up_places(const std::vector<std::string>& places, const NetworkNamespace& netns) {
  for (const std::string& place : places) {
    const auto directory = open_user_directory(place, IfMissing::kFail);
    if (directory) clean_up(directory->path, netns);
  }
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

std::optional<std::string> find_tree_in(const std::vector<std::string>& places,
                                        const NetworkNamespace& netns, TreeContent content) {
  add_namespaces(content, netns);
  for (const std::string& place : places) {
    const auto directory = open_user_directory(place, IfMissing::kFail);
    if (!directory) continue;
    std::string tree = path_of_tree(real_path(directory->path), netns, content);
    if (is_whole(tree, content)) return tree;
  }
  return std::nullopt;
}

Expected<std::string, std::string> publish_tree_in(const std::vector<std::string>& places,
                                                   const NetworkNamespace& netns,
                                                   const TreeContent& content) {
  std::string reasons;
  for (const std::string& place : places) {
    auto directory = open_user_directory(place, IfMissing::kMake);
    auto tree = directory ? publish_or_clean_up(real_path(directory->path), netns, content)
                          : Unexpected<std::string>(directory.error().what);
    if (tree) {
      clean_up_places(places, netns);
      return tree;
    }
    reasons += (reasons.empty() ? "" : "; ") + tree.error();
  }
  return Unexpected<std::string>("no directory for the description of the devices: " + reasons);
}

}  // namespace urxe
