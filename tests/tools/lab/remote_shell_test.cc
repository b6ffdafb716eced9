// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/remote_shell.h"

#include <gtest/gtest.h>

namespace urxe::lab {
namespace {

std::string parsed(const std::vector<std::string>& arguments) {
  const auto remote = parse_remote_command(arguments);
  return remote ? remote->host + "|" + remote->command : remote.error();
}

TEST(LabRemoteShell, HostAndCommand) {
  EXPECT_EQ(parsed({"node2", "echo", "a  b"}), "node2|echo a  b");
  EXPECT_EQ(parsed({"node2"}), "node2|");
  EXPECT_EQ(parsed({"me@node2", "true"}), "node2|true");
  EXPECT_EQ(parsed({}), "no node given");
  EXPECT_EQ(parsed({"-x"}), "no node given");
}

TEST(LabRemoteShell, OptionsOfSshAreSkippedWithTheirValues) {
  EXPECT_EQ(parsed({"-x", "-q", "node2", "true"}), "node2|true");
  EXPECT_EQ(parsed({"-p", "22", "-l", "me", "node2", "true"}), "node2|true");
  EXPECT_EQ(parsed({"-p22", "-oBatchMode=yes", "node2", "true"}), "node2|true");
  EXPECT_EQ(parsed({"-xp", "22", "node2", "true"}), "node2|true");
  EXPECT_EQ(parsed({"-x", "--", "node2", "true"}), "node2|true");
  // As ssh does: options may follow the host, but not the command.
  EXPECT_EQ(parsed({"node2", "-n", "ls", "-l"}), "node2|ls -l");
}

}  // namespace
}  // namespace urxe::lab
