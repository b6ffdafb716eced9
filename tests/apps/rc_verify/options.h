// SPDX-License-Identifier: BSD-2-Clause
// The command line. The client's choices of what to test rule; it hands them to the server.
#pragma once

#include <cstdint>
#include <string>

namespace rc_verify {

// What both sides must agree on.
struct TestOptions {
  uint64_t seed = 1;
  uint64_t max_size = 4ULL << 20;  // Of one message, in bytes.
  uint64_t budget = 8ULL << 20;    // Of a batch's messages of one QP and direction, in bytes.
  uint64_t huge_size = 0;          // Of the messages of the huge scenario; 0: leave it out.
  uint32_t path_mtu = 1024;        // 256 .. 4096
  uint32_t qps = 4;
  uint32_t batches = 20;        // Of the random scenario.
  uint32_t messages = 64;       // Of a batch's QP and direction.
  uint32_t events = 0;          // 1: sleep on the completion channel instead of polling.
  uint32_t timeout = 14;        // Local ACK timeout, 4.096 us x 2^n.
  uint32_t stall_seconds = 60;  // Without any progress for as long: a failure.
  uint32_t random_only = 0;     // 1: leave out all scenarios but the random one.
};

struct Options {
  TestOptions test;
  std::string device;  // The first device where empty.
  std::string host;    // Empty: the server.
  uint16_t port = 18600;
  uint32_t gid_index = 0;
  bool quiet = false;
};

// Exits with a usage message where the arguments are wrong or --help is among them.
Options parse_options(int argc, char** argv);

}  // namespace rc_verify
