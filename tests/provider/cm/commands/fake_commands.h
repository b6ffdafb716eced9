// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "provider/cm/commands/command_table.h"

namespace urxe::cm {

/// What the dispatcher asked for, in place of a connection manager; and what that answers.
struct FakeCommands {
  std::vector<std::string> calls;  ///< "name id=1 other=2", in order
  int fails_with = 0;              ///< each call, once recorded
  std::vector<uint8_t> option;
  rdma_ucm_ece ece{};
  rdma_ucm_conn_param parameters{};
  sockaddr_storage source{};
  sockaddr_storage destination{};
  size_t paths = 0;
};

/// Starts afresh.
FakeCommands& reset_fake_commands();
const CommandTable& fake_command_table();

}  // namespace urxe::cm
