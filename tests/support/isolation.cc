// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/isolation.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace urxe::test {
namespace {

bool is_isolated = false;

bool write_file(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

/// As an ordinary user by way of a user namespace, where the system allows that.
bool enter_namespace() {
  const uid_t user = geteuid();
  if (user == 0) return unshare(CLONE_NEWNET) == 0;
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const auto itself = [](auto id) {
    return std::to_string(id) + " " + std::to_string(id) + " 1\n";
  };
  return write_file("/proc/self/uid_map", itself(user)) &&
         write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/gid_map", itself(group));
}

bool bring_loopback_up() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return up;
}

class Isolation : public ::testing::Environment {
 public:
  void SetUp() override { is_isolated = enter_namespace() && bring_loopback_up(); }
  void TearDown() override {
    struct stat netns {};
    if (!is_isolated || stat("/proc/self/ns/net", &netns) != 0) return;
    // What the tests have shared is of no use to anybody any more.
    namespace fs = std::filesystem;
    const std::string number = "-" + std::to_string(netns.st_ino) + "-";
    std::error_code failed;
    fs::directory_iterator at("/dev/shm/urxe-" + std::to_string(geteuid()), failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
      const std::string name = at->path().filename();
      std::error_code ignored;
      if (name.starts_with("net") && name.find(number) != std::string::npos) {
        fs::remove_all(at->path(), ignored);
      }
    }
  }
};

[[maybe_unused]] const auto* const kIsolation = ::testing::AddGlobalTestEnvironment(new Isolation);

}  // namespace

bool isolated() {
  return is_isolated;
}

}  // namespace urxe::test
