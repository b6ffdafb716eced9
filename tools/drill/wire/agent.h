// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/drill/wire/tcp.h"

namespace urxe::drill {

// clang-format off
// The protocol of an agent. It sends a line {"urxe_drill": 2, "device": NAME, "gid": 32 digits} to
// its client, then a line of JSON for each request:
//
//   script BYTES QPN GID       what follows the line is a script; its peer is that queue pair
//   do N                       statement N of the script, from 0; "value": the number or key made
//   poll                       "completions" and "events" since the last time, up to kMostReports each
//   state                      "state" of the queue pair
//   memory NAME OFFSET LENGTH  "bytes", in hexadecimal
//
// Other clients get a line meanwhile, {"urxe_drill": 2, "busy": "ADDRESS port PORT", "seconds": N}:
// which client the agent serves, and for how long.
// clang-format on
// An answer with "error" says what is wrong with the request, one with "refused" or "impossible"
// why the statement was not done.
inline constexpr int kProtocolVersion = 2;
inline constexpr size_t kMostScriptBytes = 1 << 20;
inline constexpr size_t kMostReports = 32;
inline constexpr size_t kMostMemoryBytes = 4096;

struct AgentOptions {
  std::string device;  ///< empty: the first
  std::optional<unsigned> gid_index;
  std::string listen;  ///< address to listen on; empty: that of the GID
  uint16_t port = kAgentPort;
  bool keep = false;  ///< serve further clients when one has left
};

/// Does the verbs of scripts for one client after the other. Returns the exit status: when a client
/// that has run a script leaves, unless `keep`; at once if it cannot begin.
int serve_scripts(const AgentOptions& options);

}  // namespace urxe::drill
