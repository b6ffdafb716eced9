// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "packet/wire/gid.h"
#include "tools/drill/script.h"
#include "tools/drill/stage.h"
#include "tools/drill/wire/line_channel.h"
#include "tools/drill/wire/tcp.h"

namespace urxe::drill {

/// The agent cannot be reached, has left, or says what no agent says.
struct AgentFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A device of another host, through its agent (agent.h). All calls wait for the answer, up to ten
/// seconds, and throw AgentFailure.
class AgentClient {
 public:
  struct Reports {
    std::vector<ibv_wc> completions;
    std::vector<ibv_event_type> events;
  };
  struct Done {
    Outcome outcome;
    uint32_t value = 0;  ///< the number or key of what was made
  };

  explicit AgentClient(const Endpoint& endpoint);

  [[nodiscard]] const Gid& gid() const { return gid_; }
  [[nodiscard]] const std::string& device() const { return device_; }
  /// Readable without a request: the agent has left.
  [[nodiscard]] int fd() const { return channel_.fd(); }

  /// Ends the script before, and with it its queue pair.
  void begin(const Script& script, uint32_t peer_qpn, const Gid& peer);
  Done do_statement(size_t index);
  Reports poll();
  ibv_qp_state state();
  std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                             size_t length);
  /// Throws what `what` says of this agent.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string name_;
  LineChannel channel_;
  std::string device_;
  Gid gid_;
};

}  // namespace urxe::drill
