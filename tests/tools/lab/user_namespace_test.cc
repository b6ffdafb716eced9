// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/user_namespace.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace urxe::lab {
namespace {

/// A directory in the place of /proc/sys.
class LabAdvice : public testing::Test {
 protected:
  LabAdvice() {
    std::string name = testing::TempDir() + "urxe-lab-XXXXXX";
    root_ = mkdtemp(name.data());
    std::filesystem::create_directories(root_ + "/kernel");
    std::filesystem::create_directories(root_ + "/user");
  }
  ~LabAdvice() override { std::filesystem::remove_all(root_); }
  void set(const std::string& setting, int value) {
    std::ofstream(root_ + "/" + setting) << value << "\n";
  }
  [[nodiscard]] bool advises(const std::string& words, int error = EPERM) const {
    return advice_on(error, root_).find(words) != std::string::npos;
  }

 private:
  std::string root_;
};

TEST_F(LabAdvice, NamesTheSettingThatForbidsIt) {
  set("user/max_user_namespaces", 1000);
  set("kernel/apparmor_restrict_unprivileged_userns", 0);
  EXPECT_TRUE(advises("seccomp"));
  EXPECT_TRUE(advises("Operation not permitted"));
  set("kernel/apparmor_restrict_unprivileged_userns", 1);
  EXPECT_TRUE(advises("kernel.apparmor_restrict_unprivileged_userns=0, or run"));
  set("user/max_user_namespaces", 0);
  EXPECT_TRUE(advises("user.max_user_namespaces=1000, or run", ENOSPC));
  set("kernel/unprivileged_userns_clone", 0);
  EXPECT_TRUE(advises("kernel.unprivileged_userns_clone=1, or run"));
}

TEST_F(LabAdvice, KnowsNoReasonWithoutSettings) {
  EXPECT_TRUE(advises("cannot make a user namespace: Operation not permitted"));
}

}  // namespace
}  // namespace urxe::lab
