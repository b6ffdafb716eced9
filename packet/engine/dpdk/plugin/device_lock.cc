// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/device_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "packet/base/engine_error.h"
#include "packet/base/fnv.h"
#include "packet/host/network_identity.h"
#include "packet/host/pause.h"
#include "packet/host/user_directory.h"

namespace urxe {
namespace {

constexpr int kAttempts = 100;
constexpr int kBusyAttempts = 20;
constexpr timespec kPause{0, 1000000};

std::string hex(uint64_t number) {
  char text[17] = {};
  std::to_chars(text, text + 16, number, 16);
  return text;
}

std::string read_holder(int fd) {
  char text[24] = {};
  const ssize_t size = pread(fd, text, sizeof text - 1, 0);
  return size > 0 ? "process " + std::string(text) : "another process";
}

/// Whether the locked file is still the one that others find.
bool is_current(int fd, const std::string& path) {
  struct stat ours {};
  struct stat found {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &found) == 0 && ours.st_ino == found.st_ino &&
         ours.st_dev == found.st_dev;
}

}  // namespace

std::string user_file(const char* kind, const std::string& key) {
  for (const std::string& place : user_directory_places()) {
    const auto directory = open_user_directory(place, IfMissing::kMake);
    if (directory) return directory->path + "/" + kind + "-" + hex(fnv1a(key));
  }
  return "";
}

Expected<DeviceLock, EngineError> DeviceLock::take(const DeviceKey& key,
                                                   const std::string& device) {
  DeviceLock lock;
  if (key.text.empty()) return lock;
  std::string text = key.text;
  if (key.of_network) {
    const auto network = network_identity();
    if (!network) {
      const int why = network.error().value;
      return engine_failure(
          why, std::string("cannot tell which network this is: ") + std::strerror(why));
    }
    text += " " + *network;
  }
  lock.path_ = user_file("dpdk", text);
  if (lock.path_.empty()) return lock;
  int busy = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    FileDescriptor fd(open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return lock;
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      // A process that looks whether the owner lives has the lock for a moment.
      if (++busy < kBusyAttempts) {
        pause_for(kPause);
        continue;
      }
      return engine_failure(EBUSY, "the DPDK device '" + device + "' is in use by " +
                                       read_holder(fd.get()) + ": only one process can have it");
    }
    // Its last owner may have removed it meanwhile.
    if (!is_current(fd.get(), lock.path_)) continue;
    const std::string pid = std::to_string(getpid());
    [[maybe_unused]] const bool written =
        ftruncate(fd.get(), 0) == 0 && pwrite(fd.get(), pid.data(), pid.size(), 0) > 0;
    lock.fd_ = std::move(fd);
    break;
  }
  return lock;
}

void DeviceLock::release() {
  if (fd_) unlink(path_.c_str());
  fd_.reset();
}

}  // namespace urxe
