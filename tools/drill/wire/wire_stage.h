// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <set>
#include <string>

#include "tools/drill/wire/real_stage.h"

namespace urxe::drill {

/// A device on the wire.
class WireStage final : public RealStage {
 public:
  /// For one script. `peer_qpn` should differ from those of scripts shortly before, whose late
  /// packets are then dropped. What is passed must outlive the stage.
  WireStage(const Script& script, AgentClient& agent, WireSocket& socket, uint32_t peer_qpn,
            Duration patience);

  Outcome act(const Statement& statement) override;
  ibv_qp_state state() override { return agent_.state(); }
  std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                             size_t length) override {
    return agent_.memory(region, offset, length);
  }
  [[nodiscard]] Names names() const override;

 private:
  Outcome packet_in(const Statement& statement);
  void take_packets() override;
  [[nodiscard]] bool is_repeat(const SentPacket& packet);

  const Script& script_;
  uint32_t qpn_ = 0;
  uint32_t peer_qpn_;
  uint32_t qkey_ = 0;
  std::map<std::string, uint32_t, std::less<>> keys_;  ///< of the regions
  std::set<std::string> requests_;                     ///< that the device has sent
};

}  // namespace urxe::drill
