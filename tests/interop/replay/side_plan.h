// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "tests/interop/replay/story.h"

namespace urxe::replay {

/// A queue pair of the recording that the device under test is to have, with the conversations in
/// which it is the requester and the responder. A connected one has at most one of each.
struct QueuePairPlan {
  Service service = Service::kRc;
  Endpoint self;
  Endpoint peer;  ///< of a connected one
  uint32_t mtu = 0;
  bool is_gone = false;      ///< the recorded one had been destroyed: nobody answered
  std::optional<Gid> group;  ///< the multicast group that it is attached to
  std::vector<const Talk*> sends;
  std::vector<const Talk*> receives;
};

/// One of the two ends of the link, with all that it did.
struct SidePlan {
  Gid gid;
  std::vector<QueuePairPlan> queue_pairs;
};

std::vector<SidePlan> plan_sides(const Story& story);

}  // namespace urxe::replay
