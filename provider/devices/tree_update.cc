// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_update.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "packet/host/read_file.h"
#include "provider/devices/device_list.h"
#include "provider/devices/gid_source.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"

namespace urxe {
namespace {

/// Attempts to lock, a millisecond apart: the holder may have been stopped.
constexpr int kLockAttempts = 500;

/// Opens a file itself, without the preloaded object, which may be in this process.
FileDescriptor open_file(const std::string& path) {
  return FileDescriptor(static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)));
}

/// The right to write the tree.
class TreeLock {
 public:
  explicit TreeLock(const std::string& tree) : fd_(open_file(tree + "/lock")) {
    for (int attempt = 0; fd_ && attempt < kLockAttempts; ++attempt) {
      held_ = flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
      if (held_ || (errno != EWOULDBLOCK && errno != EINTR)) return;
      const timespec pause{0, 1000000};
      nanosleep(&pause, nullptr);
    }
  }
  ~TreeLock() {
    // Explicitly, because a child forked meanwhile may have a copy of the descriptor.
    if (held_) flock(fd_.get(), LOCK_UN);
  }
  TreeLock(const TreeLock&) = delete;
  TreeLock& operator=(const TreeLock&) = delete;

  [[nodiscard]] bool held() const { return held_; }

 private:
  FileDescriptor fd_;
  bool held_ = false;
};

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// Replaces a file's text atomically. The lock keeps other processes from using the draft's name.
bool replace_file(const std::string& tree, const std::string& path, const std::string& text) {
  const std::string draft = tree + "/draft";
  unlink(draft.c_str());
  FileDescriptor fd(open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return false;
  errno = ENOSPC;  // if only a part is written
  return write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         fchmod(fd.get(), 0444) == 0 && std::rename(draft.c_str(), path.c_str()) == 0;
}

const Interface* find_interface(const std::vector<Interface>& interfaces, uint32_t ifindex) {
  auto found = std::find_if(interfaces.begin(), interfaces.end(),
                            [ifindex](const auto& i) { return i.ifindex == ifindex; });
  return found != interfaces.end() ? &*found : nullptr;
}

bool has_text(const std::string& path, const std::string& text) {
  FileDescriptor fd = open_file(path);
  std::string found(text.size() + 1, '\0');
  const ssize_t got = fd ? read(fd.get(), found.data(), found.size()) : -1;
  return got == static_cast<ssize_t>(text.size()) && found.starts_with(text);
}

/// The order of writing: an entry loses its GID before its attributes, and gets them before its
/// GID.
int rank(const std::string& name, const std::string& text) {
  if (!name.starts_with("gids/")) return 1;
  return text.find_first_not_of("0:\n") == std::string::npos ? 0 : 2;
}

/// The two places that show the interface's name and belong to no port. The device's bus address
/// stays: `device` leads to it.
bool rename_interface(const std::string& tree, const DeviceDescription& was,
                      const DeviceDescription& now) {
  const std::string device = tree + "/sys/class/infiniband/" + now.name;
  if (!replace_file(tree, device + "/node_desc", node_description(now.ifname) + "\n")) return false;
  if (now.is_fixed()) return true;
  const std::string folder = device + "/device/net/";
  const std::string target = "/sys/class/net/" + now.ifname;
  if (symlink(target.c_str(), (folder + now.ifname).c_str()) != 0 && errno != EEXIST) return false;
  return unlink((folder + was.ifname).c_str()) == 0 || errno == ENOENT;
}

/// Whether what failed with the error may succeed without anybody's doing.
bool is_for_now(int errno_value) {
  switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return true;
    default:
      return false;
  }
}

/// The device's own file is written last. If it differs from the interface, the other files may
/// differ too, because the last writer may have been killed. False: they could not be written.
bool write_device(const std::string& tree, const DeviceDescription& was,
                  const DeviceDescription& now) {
  const std::string port = tree + "/sys/class/infiniband/" + now.name + "/ports/1/";
  bool written = was.ifname == now.ifname || rename_interface(tree, was, now);
  const auto files = describe_port_state(now);
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& [name, text] : files) {
      if (rank(name, text) != turn) continue;
      const std::string path = port + name;
      written = written && (has_text(path, text) || replace_file(tree, path, text));
    }
  }
  return written && replace_file(tree, tree + "/devices/" + now.name, format_device(now));
}

DeviceDescription follow_links(const DeviceDescription& was,
                               const std::map<std::string, bool>& links, bool in_use) {
  DeviceDescription now = was;
  const auto found = links.find(was.name);
  if (found != links.end()) {
    now.link_up = found->second;
  } else if (!in_use) {
    now.link_up = true;
  }
  return now;
}

}  // namespace

Expected<bool, std::string> is_of_this_namespace(const std::string& tree) {
  const std::string path = tree + "/netns";
  const auto identity = read_file(path);
  if (!identity)
    return Unexpected<std::string>(path + ": " + std::strerror(identity.error().value));
  const auto netns = current_network_namespace();
  if (!netns) return Unexpected<std::string>(netns.error());
  return netns->identity == *identity;
}

FileDescriptor hold_tree(const std::string& tree) {
  FileDescriptor fd = open_file(tree + "/users");
  struct flock lock = whole_file(F_RDLCK);
  if (fd && fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) fd.reset();
  return fd;
}

bool has_users(const std::string& tree) {
  FileDescriptor fd = open_file(tree + "/users");
  struct flock lock = whole_file(F_WRLCK);
  return fd && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Expected<TreeUpdate, std::string> update_tree(const std::string& tree,
                                              const std::map<std::string, bool>& links) {
  const auto is_ours = is_of_this_namespace(tree);
  if (!is_ours) return Unexpected<std::string>(is_ours.error());
  if (!*is_ours) {
    return Unexpected<std::string>("the devices are those of another network namespace");
  }
  TreeLock lock(tree);
  // Listed with the lock held, so that newer text is never replaced by older.
  auto interfaces = list_interfaces();
  if (!interfaces) return Unexpected<std::string>(interfaces.error());
  TreeUpdate update{.devices = read_devices(tree)};
  const bool keep_indexes = has_users(tree);
  for (DeviceDescription& device : update.devices) {
    DeviceDescription now = device;
    if (device.is_fixed()) {
      now = follow_links(device, links, keep_indexes);
    } else {
      if (!keep_indexes) now.gids.clear();
      now = follow_interface(now, find_interface(*interfaces, device.ifindex));
    }
    if (now == device) continue;
    update.was_locked_out = !lock.held();
    errno = 0;
    if (!lock.held() || !write_device(tree, device, now)) {
      update.is_ahead = true;
      update.may_be_written_later = update.may_be_written_later || is_for_now(errno);
    }
    device = std::move(now);
  }
  return update;
}

}  // namespace urxe
