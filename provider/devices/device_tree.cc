// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>

#include "packet/host/file_descriptor.h"
#include "provider/devices/preloaded.h"

namespace urxe {
namespace {

constexpr uint32_t kFirstWithHold = 5;

std::string find_tree() {
  const urxe_presence* const presence = find_presence();
  if (presence != nullptr && presence->tree != nullptr) return presence->tree;
  const char* value = secure_getenv("URXE_TREE");
  return value != nullptr ? value : "";
}

// Never destroyed: threads and exit handlers may still ask.
const std::string& named_tree() {
  static const auto* const tree = new std::string(find_tree());
  return *tree;
}

/// Never closed: device_tree() may be asked as long as the process exists. -1: not held.
std::atomic<int> held_tree{-1};

}  // namespace

std::string device_tree() {
  const int held = held_tree.load();
  struct stat status {};
  if (held >= 0 && lstat(named_tree().c_str(), &status) != 0 && errno == EACCES) {
    return "/proc/self/fd/" + std::to_string(held);
  }
  return named_tree();
}

void hold_device_tree() {
  if (named_tree().empty() || held_tree.load() >= 0) return;
  FileDescriptor fd(open(named_tree().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  int none = -1;
  if (!fd || !held_tree.compare_exchange_strong(none, fd.get())) return;
  const urxe_presence* const presence = find_presence(kFirstWithHold);
  if (presence != nullptr) presence->hold_tree(fd.get());
  (void)fd.release();
}

}  // namespace urxe
