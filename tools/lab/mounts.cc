// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace urxe::lab {
namespace {

constexpr const char* kShm = "/dev/shm";
constexpr const char* kHosts = "/etc/hosts";
constexpr const char* kFaults = "/dev/shm/urxe-lab/faults";

Done mount_shm() {
  if (mount("urxe-lab", kShm, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
    return system_failure("cannot mount a file system at /dev/shm");
  }
  return {};
}

/// Makes the file visible in /etc: over the one that is there or, in a minimal system that has
/// none, by a read-only view of `directory` and /etc together.
bool show_in_etc(const std::string& directory, const std::string& file) {
  if (mount(file.c_str(), kHosts, nullptr, MS_BIND, nullptr) == 0) return true;
  if (errno != ENOENT) return false;
  const std::string both = "lowerdir=" + directory + ":/etc";
  return mount("urxe-lab", "/etc", "overlay", MS_NOSUID | MS_NODEV, both.c_str()) == 0;
}

/// The file needs a file system only until it is mounted.
Done mount_hosts(const std::string& hosts) {
  if (auto done = mount_shm(); !done) return done;
  const std::string directory = std::string(kShm) + "/etc";
  const std::string path = directory + "/hosts";
  mkdir(directory.c_str(), 0755);
  std::ofstream(path) << hosts;
  chmod(path.c_str(), 0644);
  if (!show_in_etc(directory, path)) return system_failure("cannot mount a file at /etc/hosts");
  if (umount2(kShm, MNT_DETACH) != 0) return system_failure("cannot unmount /dev/shm");
  return {};
}

Done link_programs() {
  std::error_code failed;
  const auto self = std::filesystem::canonical("/proc/self/exe", failed);
  if (failed) return failure("/proc/self/exe: " + failed.message());
  if (mkdir(kPrograms, 0755) != 0) return system_failure(kPrograms);
  for (const char* const name : {"urxe", "ssh"}) {
    const std::string path = std::string(kPrograms) + "/" + name;
    if (symlink(self.c_str(), path.c_str()) != 0) return system_failure(path);
  }
  return {};
}

}  // namespace

Done mount_for_all(const std::string& hosts) {
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return system_failure(
        "cannot mount /proc (a container that hides parts of /proc forbids it: use one with "
        "--security-opt systempaths=unconfined)");
  }
  return mount_hosts(hosts);
}

Done mount_for_node(const std::string& faults) {
  if (auto done = mount_shm(); !done) return done;
  // Without it, programs that look for interfaces in /sys find the host's.
  (void)mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  if (auto done = link_programs(); !done || faults.empty()) return done;
  std::ofstream file(kFaults);
  if (!(file << faults << std::flush)) return failure(std::string("cannot write ") + kFaults);
  return {};
}

std::string read_faults() {
  std::string faults;
  std::getline(std::ifstream(kFaults), faults);
  return faults;
}

}  // namespace urxe::lab
