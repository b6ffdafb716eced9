// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/doctor/child.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// The first argument by which `urxe doctor` starts `urxe` again to ask a peer's connection
/// manager; the second is the peer's address. No subcommand for users.
inline constexpr const char* kPeerProbeCommand = "peer-probe-of-doctor";

/// Asks the peer through librdmacm for connections to a service that nobody has, and prints for
/// each whether, and after how long, the refusal comes. Returns the exit status, 0 whatever comes.
int probe_peer(const std::string& address);

/// What else is known when the child has asked.
struct PeerSurroundings {
  bool host_answers = false;  ///< it answers datagrams to closed ports, and none to port 4791
  std::string faults;         ///< URXE_FAULTS
};

/// What the child has told.
Finding judge_peer(const std::string& address, const ChildResult& child,
                   const PeerSurroundings& known = {});

// What probe_peer() prints, a line each.
inline constexpr const char* kAnswerWord = "answer";  ///< nanoseconds
inline constexpr const char* kSilenceWord = "silence";
inline constexpr const char* kFailureWord = "failure";  ///< words

}  // namespace urxe::doctor
