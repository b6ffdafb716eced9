// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "tools/drill/stage.h"
#include "tools/drill/wire/agent_client.h"
#include "tools/drill/wire/wire_socket.h"

namespace urxe::drill {

/// What the stages on the wire share: an agent does what is to be done, and the packets come and go
/// by UDP. Time is real: what a script expects at once may take as long as `patience`. Throws
/// AgentFailure. What is passed must outlive the stage.
class RealStage : public Stage {
 public:
  void settle() override;
  void pass_until(Instant end, bool until_sent) override;
  void await(const std::function<bool()>& holds) override;
  void await_event(Instant end) override;
  /// From half of the time on, to one and a half times the time, and `patience` more.
  Window window(const std::optional<When>& when, Instant base) override;
  /// Longer for those who are more patient: their device is slow.
  [[nodiscard]] Duration quiet() const override {
    return std::max(milliseconds(20), nanoseconds(patience_.ns / 50));
  }
  [[nodiscard]] Instant now() const override;

 protected:
  static constexpr size_t kMostPackets = 4096;

  RealStage(AgentClient& agent, WireSocket& socket, Duration patience)
      : agent_(agent), socket_(socket), patience_(patience) {}
  /// Takes those that have come.
  virtual void take_packets() = 0;
  void await_until(Instant end, const std::function<bool()>& holds);

  AgentClient& agent_;
  WireSocket& socket_;
  Duration patience_;

 private:
  void take_reports();
  /// Until a packet comes, or the time is over.
  void wait(Instant end);
};

/// The place of a statement in its script, as the agent counts.
size_t index_in(const Script& script, const Statement& statement);
/// Sends a packet of a statement.
Outcome send_packet(WireSocket& socket, std::span<const uint8_t> packet);

}  // namespace urxe::drill
