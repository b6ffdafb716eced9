// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

enum class Pattern {
  kAll,     ///< WRITEs on all queue pairs at once
  kOne,     ///< a ping-pong by WRITEs of 8 bytes on one of the queue pairs
  kIdle,    ///< nothing
  kWithin,  ///< WRITEs, one at a time, between two queue pairs of each thread; one process
};

/// What the process does that the WRITEs go to.
enum class Target { kSleeps, kPolls, kComputes };

struct Options {
  Pattern pattern = Pattern::kAll;
  Target target = Target::kSleeps;
  uint32_t qps = 1;
  uint32_t depth = 0;  ///< requests of a queue pair, for which its send queue has room
  size_t bytes = 65536;
  uint32_t threads = 1;
  double seconds = 2;
  int gid_index = 0;
};

/// Ends the program where the words are wrong.
Options parse(int argc, char** argv);

}  // namespace bench
