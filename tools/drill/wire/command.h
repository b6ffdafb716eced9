// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"

namespace urxe::drill {

// The requests of an agent's client: its protocol is described in agent.h. Any line may come.

/// What follows the line is a script.
struct TakeScript {
  size_t bytes = 0;  ///< at most kMostScriptBytes
  uint32_t qpn = 0;  ///< of the script's peer, 24 bits
  Gid peer;
};
struct DoStatement {
  size_t index = 0;  ///< from 0; there may be no such statement
};
struct PollReports {};
struct AskState {};
struct ReadMemory {
  std::string region;  ///< there may be none of this name
  uint32_t offset = 0;
  uint32_t length = 0;  ///< at most kMostMemoryBytes
};
using Command = std::variant<TakeScript, DoStatement, PollReports, AskState, ReadMemory>;

struct BadCommand {
  std::string expected;
  bool ends_session = false;  ///< it is not known where the next request begins
};

Expected<Command, BadCommand> parse_command(const std::string& line);

}  // namespace urxe::drill
