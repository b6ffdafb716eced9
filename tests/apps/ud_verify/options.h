// SPDX-License-Identifier: BSD-2-Clause
// The command line.
#pragma once

#include <cstdint>
#include <string>

namespace ud_verify {

struct Options {
  std::string device;  // The first device where empty.
  std::string host;    // Empty: the server.
  uint16_t port = 18700;
  uint32_t gid_index = 0;
  uint32_t largest = 1024;       // Payload in bytes: at most the path MTU. The client's rules.
  bool controlled_qkey = false;  // Test only that; the client's rules.
  uint32_t in_line = 220;        // Bytes of inline data to ask for.
  uint32_t stall_seconds = 60;
};

// Exits with a usage message where the arguments are wrong or --help is among them.
Options parse_options(int argc, char** argv);

}  // namespace ud_verify
