// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// The options of `urxe drill`.
struct DrillOptions {
  std::vector<std::string> scripts;  ///< files, or folders of *.drill
  bool verbose = false;              ///< a line for each script that passes, too
  bool json = false;

  std::string peer;             ///< HOST[:PORT] of an agent; empty: the transport in virtual time
  std::string local;            ///< the address to send from; empty: the one that leads to the peer
  uint32_t patience_ms = 1000;  ///< how late what a script expects may come from a peer

  bool agent = false;  ///< be the agent
  std::string device;  ///< empty: the first
  std::optional<unsigned> gid_index;
  std::string listen;  ///< the address to listen on; empty: the device's
  std::optional<uint16_t> port;
  bool keep = false;  ///< serve further clients
};

/// `urxe drill`: runs packet scripts against the transport or a peer, or is the agent of a peer.
/// Returns the exit status: 1 if a script failed, 2 if one cannot be read or is wrong, 3 if none
/// failed and some cannot be judged, 125 if the agent fails.
int drill_command(const DrillOptions& options);

}  // namespace urxe
