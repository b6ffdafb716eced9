// SPDX-License-Identifier: BSD-2-Clause
// The command line. The client's choices of what to test rule; it hands them to the server.
#pragma once

#include <cstdint>
#include <string>

namespace rc_verify {

enum class Transport : uint32_t { kReliable, kUnreliable };

// What can be run, as bits of TestOptions::scenarios.
enum Scenario : uint32_t {
  kSolicited = 1,
  kSizes = 2,
  kCounter = 4,
  kRandom = 8,
  kHuge = 16,
  // The receive queues of these are not the others': each runs alone.
  kSharedReceiveQueue = 32,
  kNotReady = 64,
  kRefused = 128,
};
inline constexpr uint32_t kCommonScenarios = kSolicited | kSizes | kCounter | kRandom | kHuge;

// What both sides must agree on.
struct TestOptions {
  uint64_t seed = 1;
  uint64_t max_size = 4ULL << 20;  // Of one message, in bytes.
  uint64_t budget = 8ULL << 20;    // Of a batch's messages of one QP and direction, in bytes.
  uint64_t huge_size = 0;          // Of the messages of the huge scenario; 0: leave it out.
  uint32_t path_mtu = 1024;        // 256 .. 4096
  uint32_t no_empty = 0;           // 1: no message of the random scenario has 0 bytes.
  uint32_t qps = 4;
  uint32_t batches = 20;   // Of the random scenario.
  uint32_t messages = 64;  // Of a batch's QP and direction.
  uint32_t events = 0;     // 1: sleep on the completion channel instead of polling.
  uint32_t timeout =
      18;  // Local ACK timeout, 4.096 us x 2^n; an end may have no processor for seconds.
  uint32_t stall_seconds = 60;  // Without any progress for as long: a failure.
  Transport transport = Transport::kReliable;
  uint32_t scenarios = kCommonScenarios;
  uint32_t operations = ~0U;  // Bits 1 << Operation.
  uint32_t one_way = 0;       // 1: only the client requests.
  uint32_t in_line = 0;       // Not 0: all messages are at most of this length, and inline.
  uint32_t no_fence = 0;      // 1: no message waits for the READs and atomics before it.
  uint32_t pieces = 0;        // Of each gather and scatter list; 0: at random.
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
