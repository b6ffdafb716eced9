// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/interop/replay/frame.h"

namespace urxe::replay {

/// A queue pair and where it is.
struct Endpoint {
  Gid gid;
  Qpn qpn;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// The requests of one queue pair to another and what was answered: one direction of a connection,
/// or the datagrams between two queue pairs (or from one to a group). All but those of QP1.
struct Conversation {
  Service service = Service::kRc;
  Endpoint requester;  ///< if nothing shows its number (nobody answered it), one that is free
  Endpoint responder;
  Psn start;         ///< of the first request
  uint32_t mtu = 0;  ///< path MTU in bytes, as far as the packets show it
  Frames requests;   ///< as recorded
  Frames responses;
};

/// In the order of their first requests.
std::vector<Conversation> find_conversations(const std::vector<Frame>& frames);

}  // namespace urxe::replay
