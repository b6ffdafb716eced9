// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tools/drill/stage.h"
#include "tools/drill/wire/agent_client.h"
#include "tools/drill/wire/wire_socket.h"

namespace urxe::drill {

/// A device on the wire: its agent does the verbs, and the packets come and go by UDP. Time is
/// real: what a script expects at once may take as long as `patience`. Throws AgentFailure.
class WireStage final : public Stage {
 public:
  /// For one script. `peer_qpn` should differ from those of scripts shortly before, whose late
  /// packets are then dropped. What is passed must outlive the stage.
  WireStage(const Script& script, AgentClient& agent, WireSocket& socket, uint32_t peer_qpn,
            Duration patience);

  Outcome act(const Statement& statement) override;
  void settle() override;
  void pass_until(Instant end, bool until_sent) override;
  void await(const std::function<bool()>& holds) override;
  /// From half of the time on, to one and a half times the time, and `patience` more.
  Window window(const std::optional<When>& when, Instant base) override;
  /// Longer for those who are more patient: their device is slow.
  [[nodiscard]] Duration quiet() const override {
    return std::max(milliseconds(20), nanoseconds(patience_.ns / 50));
  }
  ibv_qp_state state() override { return agent_.state(); }
  std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                             size_t length) override {
    return agent_.memory(region, offset, length);
  }
  [[nodiscard]] Names names() const override;
  [[nodiscard]] Instant now() const override;

 private:
  Outcome packet_in(const Statement& statement);
  void take_packets();
  [[nodiscard]] bool is_repeat(const SentPacket& packet);
  void take_reports();
  /// Until a packet comes, or the time is over.
  void wait(Instant end);

  const Script& script_;
  AgentClient& agent_;
  WireSocket& socket_;
  uint32_t qpn_ = 0;
  uint32_t peer_qpn_;
  uint32_t qkey_ = 0;
  Duration patience_;
  std::map<std::string, uint32_t, std::less<>> keys_;  ///< of the regions
  std::set<std::string> requests_;                     ///< that the device has sent
};

}  // namespace urxe::drill
