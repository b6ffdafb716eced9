// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/user_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "packet/host/file_descriptor.h"

namespace urxe::lab {
namespace {

constexpr int kOurs = CLONE_NEWPID | CLONE_NEWNS;
constexpr const char* kOrRoot = ", or run `urxe lab` as root";
constexpr auto kRights = std::to_array<unsigned>(
    {CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE});

Done write_file(const std::string& path, const std::string& text) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return system_failure(path);
  }
  return {};
}

/// The value of a setting; -1: there is no such setting.
long read_setting(const std::string& path) {
  std::ifstream file(path);
  long value = -1;
  file >> value;
  return file ? value : -1;
}

/// A user of the namespace is the same one outside. An ordinary user may only name itself.
Done map_own_ids(uid_t user, gid_t group) {
  if (auto done = write_file("/proc/self/setgroups", "deny"); !done) return done;
  if (auto done = write_file("/proc/self/uid_map", fmt::format("{0} {0} 1", user)); !done) {
    return done;
  }
  return write_file("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

Done make_user_namespace() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | kOurs) != 0) return failure(advice_on(errno, "/proc/sys"));
  // AppArmor may allow the namespace, but no capability in it.
  if (auto done = map_own_ids(user, group); !done) return failure(advice_on(errno, "/proc/sys"));
  return {};
}

}  // namespace

std::string advice_on(int error, const std::string& proc_sys) {
  std::string refused = "this system lets ordinary users make no user namespace: ";
  if (read_setting(proc_sys + "/kernel/unprivileged_userns_clone") == 0) {
    return refused + "set sysctl kernel.unprivileged_userns_clone=1" + kOrRoot;
  }
  if (read_setting(proc_sys + "/user/max_user_namespaces") == 0) {
    return refused + "set sysctl user.max_user_namespaces=1000" + kOrRoot;
  }
  if (read_setting(proc_sys + "/kernel/apparmor_restrict_unprivileged_userns") == 1) {
    return refused + "set sysctl kernel.apparmor_restrict_unprivileged_userns=0" + kOrRoot;
  }
  return fmt::format(
      "cannot make a user namespace: {}; in a container, its seccomp profile must allow unshare(), "
      "or it needs CAP_SYS_ADMIN",
      std::strerror(error));
}

Done enter_namespaces() {
  const bool is_privileged = geteuid() == 0 && unshare(kOurs) == 0;
  if (!is_privileged) {
    if (auto done = make_user_namespace(); !done) return done;
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return geteuid() == 0 ? system_failure("cannot make the mounts private")
                          : failure(advice_on(errno, "/proc/sys"));
  }
  return {};
}

Done keep_rights() {
  if (geteuid() == 0) return {};
  uint64_t rights = 0;
  for (const unsigned right : kRights) rights |= uint64_t{1} << right;
  const auto low = static_cast<uint32_t>(rights);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> data{{{low, low, low}, {0, 0, 0}}};
  static_assert(CAP_SYS_ADMIN < 32 && CAP_SYS_PTRACE < 32);
  if (syscall(SYS_capset, &header, data.data()) != 0) return system_failure("capset()");
  for (const unsigned right : kRights) {
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, right, 0, 0) != 0) {
      return system_failure("PR_CAP_AMBIENT_RAISE");
    }
  }
  return {};
}

}  // namespace urxe::lab
