// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// A directory in which the user's programs may meet.
struct PlaceFacts {
  std::string path;  ///< "/dev/shm"
  std::string lack;  ///< why nothing can be made there; empty: it can
  uint64_t free_bytes = 0;
  std::string own;       ///< the user's directory in it; empty: there is none yet
  std::string own_lack;  ///< what is in the way of the usual name; empty: nothing
};

/// In the order in which urxe tries them.
std::vector<PlaceFacts> read_places();

Findings judge_places(const std::vector<PlaceFacts>& places);

/// The slots of the user's processes in this network namespace.
struct SlotFacts {
  std::string directory;  ///< empty: there is none yet
  std::string lack;       ///< why it cannot be read; empty: it can
  unsigned taken = 0;
  unsigned stale = 0;  ///< sockets that ended processes have left
  unsigned bare = 0;   ///< taken ones without a socket
};

/// Looks in the first of the places that has a directory for this network namespace.
SlotFacts read_slots(const std::vector<PlaceFacts>& places);

Finding judge_slots(const SlotFacts& facts);

}  // namespace urxe::doctor
