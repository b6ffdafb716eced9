// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/stale_trees.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "packet/host/read_file.h"
#include "provider/devices/leftovers.h"
#include "provider/devices/tree_update.h"
#include "provider/devices/tree_users.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kDamagedAge{24};
constexpr std::chrono::hours kOwnTreeAge{24 * 7};
constexpr std::chrono::hours kOwnTreeAgeIfShort{1};
constexpr uintmax_t kMuchRoom = uintmax_t{16} << 20;
constexpr uintmax_t kLittleRoom = uintmax_t{4} << 20;
constexpr std::chrono::hours kOthersTreeAge{1};
/// Of a namespace that seems to be gone. Whoever makes and removes many, as tests do, would fill a
/// container's /dev/shm (64 MiB) within an hour.
constexpr std::chrono::minutes kOrphanAge{1};

std::string text_of(const fs::path& path) {
  return read_file(path).value_or("");
}

bool is_older_than(const fs::path& path, std::chrono::seconds age) {
  std::error_code failed;
  auto changed = fs::last_write_time(path, failed);
  return !failed && fs::file_time_type::clock::now() - changed > age;
}

/// Looks at most once which namespaces there are.
class Namespaces {
 public:
  /// Whether the one that the tree is for seems to be gone.
  bool is_gone(const fs::path& tree) {
    if (!looked_) living_ = living_network_namespaces();
    looked_ = true;
    const std::string name = tree.filename();
    return living_ && !living_->contains(std::strtoull(name.c_str(), nullptr, 10));
  }

 private:
  bool looked_ = false;
  std::optional<std::set<uint64_t>> living_;
};

/// A shell may have the tree by `urxe env`, which /proc does not show. So own ones stay for long,
/// unless there is hardly room for another.
std::chrono::seconds own_tree_age(const fs::path& directory) {
  std::error_code failed;
  const fs::space_info space = fs::space(directory, failed);
  if (failed || space.available >= kMuchRoom) return kOwnTreeAge;
  return space.available >= kLittleRoom ? kOwnTreeAgeIfShort : std::chrono::seconds(kOrphanAge);
}

bool is_old(const fs::path& tree, bool is_ours, Namespaces& namespaces) {
  if (is_ours) return is_older_than(tree, own_tree_age(tree.parent_path()));
  return is_older_than(tree, kOthersTreeAge) ||
         (is_older_than(tree, kOrphanAge) && namespaces.is_gone(tree));
}

/// A part of a tree whose removal was cut short: new trees appear whole.
bool is_remainder(const fs::path& tree) {
  constexpr const char* kHexadecimal = "0123456789abcdef";
  constexpr size_t kHashDigits = 16;
  const std::string name = tree.filename();
  const size_t dash = name.find_first_not_of("0123456789");
  const bool is_named_so = dash != 0 && dash != std::string::npos && name[dash] == '-' &&
                           name.size() == dash + 1 + kHashDigits &&
                           name.find_first_not_of(kHexadecimal, dash + 1) == std::string::npos;
  if (!is_named_so) return false;
  std::error_code failed;
  const bool has_network = fs::exists(tree / kTreeNetworkFile, failed) || failed;
  const bool has_processes = fs::exists(tree / kTreeProcessesFile, failed) || failed;
  return !has_network && !has_processes;
}

/// Moves a tree out of the way first: nobody would know what is left of it if this process is
/// killed meanwhile. If there is no room for that, it is removed where it is.
void remove_aside(const fs::path& tree, const std::string& runtime_directory) {
  std::string aside = fmt::format("{}/{}XXXXXX", runtime_directory, kDamagedTree);
  std::error_code ignored;
  if (mkdtemp(aside.data()) != nullptr) {
    if (std::rename(tree.c_str(), aside.c_str()) != 0) fs::remove_all(tree, ignored);
    fs::remove_all(aside, ignored);
  } else {
    fs::remove_all(tree, ignored);
  }
}

/// The kernel reuses the numbers of namespaces that are gone.
bool is_stale(const fs::path& tree, const NetworkNamespace& netns, Namespaces& namespaces) {
  if (is_remainder(tree)) return is_older_than(tree, kDamagedAge);
  const bool is_same_number = tree.filename().string().starts_with(tree_name_prefix(netns));
  const std::string identity = text_of(tree / kTreeNetworkFile);
  const bool is_ours = is_same_number && identity == netns.identity;
  if (is_same_number && !is_ours && !identity.empty()) return true;
  return text_of(tree / kTreeProcessesFile) == netns.pid_namespace &&
         is_old(tree, is_ours, namespaces) && !has_users(tree.string()) &&
         !is_in_use(tree.string());
}

}  // namespace

std::string tree_name_prefix(const NetworkNamespace& netns) {
  return fmt::format("{}-", netns.number);
}

void remove_stale_trees(const std::string& runtime_directory, const NetworkNamespace& netns) {
  Namespaces namespaces;
  std::error_code failed;
  fs::directory_iterator at(runtime_directory, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    const fs::path& path = at->path();
    const bool is_damaged = path.filename().string().starts_with(kDamagedTree);
    std::error_code ignored;
    if (is_damaged && is_older_than(path, kDamagedAge)) fs::remove_all(path, ignored);
    if (!is_damaged && is_stale(path, netns, namespaces)) remove_aside(path, runtime_directory);
  }
}

}  // namespace urxe
