// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

namespace urxe::doctor {
namespace {

/// Only a failure reaches it.
constexpr Duration kLong = seconds(100);

TEST(DoctorChild, KeepsOutputAndStatus) {
  const ChildResult child = run_child({"sh", "-c", "echo out; echo err >&2; exit 3"}, kLong);
  EXPECT_EQ(child.out, "out\n");
  EXPECT_EQ(child.err, "err\n");
  EXPECT_EQ(WEXITSTATUS(child.status), 3);
  EXPECT_FALSE(child.succeeded());
  EXPECT_TRUE(run_child({"true"}, kLong).succeeded());
}

TEST(DoctorChild, TellsThatThereIsNoSuchProgram) {
  const ChildResult child = run_child({"/nonexistent/program"}, kLong);
  EXPECT_EQ(child.start_error, ENOENT);
  EXPECT_FALSE(child.succeeded());
}

TEST(DoctorChild, EndsWhatHangsWithWhatItHasStarted) {
  const ChildResult child =
      run_child({"sh", "-c", "echo begun; sleep 1000 & sleep 1000"}, milliseconds(300));
  EXPECT_TRUE(child.timed_out);
  EXPECT_TRUE(WIFSIGNALED(child.status));
  EXPECT_FALSE(child.succeeded());
}

TEST(DoctorChild, EndsWhatHangsWithoutOutput) {
  const ChildResult child = run_child({"sh", "-c", "exec sleep 1000 >&- 2>&-"}, milliseconds(300));
  EXPECT_TRUE(child.timed_out);
}

TEST(DoctorChild, HasABoundOnOutput) {
  const ChildResult child = run_child({"head", "-c", "6000000", "/dev/zero"}, kLong);
  EXPECT_TRUE(child.succeeded());
  EXPECT_EQ(child.out.size(), size_t{4} << 20);
}

}  // namespace
}  // namespace urxe::doctor
