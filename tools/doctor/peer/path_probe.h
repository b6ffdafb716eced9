// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

inline constexpr const char* kPeerCheck = "peer";

/// The host at the other end.
struct PeerAddress {
  sockaddr_storage address{};  ///< with UDP port 4791
  socklen_t size = 0;
  std::string text;  ///< "192.0.2.1"
};

/// Asks the resolver, which may take as long as it is set to. The error is a line for the user.
Expected<PeerAddress, std::string> resolve_peer(const std::string& host);

/// What UDP packets to the peer's port 4791 meet.
struct PathFacts {
  int error = 0;         ///< errno of the kernel's or of a router's refusal; 0: none
  bool refused = false;  ///< the peer says that nobody has the port (ICMP)
  uint32_t ip_mtu = 0;   ///< the largest packet that the way takes, as far as routers tell
  /// The largest path MTU whose packets arrive; none: the peer does not tell.
  std::optional<ibv_mtu> arriving = std::nullopt;
  uint32_t interface_mtu = 0;  ///< of the interface that packets leave by; 0: not known
};

/// Sends RoCEv2 packets of each path MTU, from the largest on, until one is not refused. They are
/// for a queue pair that nobody has, so the peer drops them.
PathFacts probe_path(const PeerAddress& peer);

Findings judge_path(const PeerAddress& peer, const PathFacts& facts);

}  // namespace urxe::doctor
