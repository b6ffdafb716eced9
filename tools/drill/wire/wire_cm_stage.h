// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "packet/wire/cm/cm_message.h"
#include "tools/drill/wire/real_stage.h"

namespace urxe::drill {

/// The connection manager of a device on the wire: its agent makes the calls, by librdmacm, and the
/// messages come and go as packets of QP1. `sent` has MADs, events are of CmEvent::Kind.
///
/// Numbers of the script stand for others, so that the device does not take a script for the
/// one before it: the peer's communication ids and transactions. What librdmacm chooses stands for
/// itself, and must stay the same: the PSN, and the times and retries of a REQ.
class WireCmStage final : public RealStage {
 public:
  /// For one script. `salt` differs from those of scripts shortly before, whose late messages are
  /// then dropped. What is passed must outlive the stage.
  WireCmStage(const Script& script, AgentClient& agent, WireSocket& socket, uint32_t salt,
              Duration patience);

  Outcome act(const Statement& statement) override;
  Comparison compare(const Statement& statement, const SentPacket& packet) override;
  [[nodiscard]] std::string show(const SentPacket& packet) const override;
  [[nodiscard]] std::string event_name(uint64_t event) const override;
  /// librdmacm has one event for all ways to be disconnected, and one for each end of patience.
  [[nodiscard]] bool is_event(uint64_t came, uint64_t expected) const override;
  /// Scripts of this stage cannot ask.
  ibv_qp_state state() override { return IBV_QPS_UNKNOWN; }
  std::optional<std::vector<uint8_t>> memory(const std::string&, size_t, size_t) override {
    return std::nullopt;
  }
  [[nodiscard]] Names names() const override { return {}; }

 private:
  Outcome message_in(const Statement& statement);
  void complete(CmReq& request) const;
  void take_packets() override;
  void take_message(SentPacket packet);
  [[nodiscard]] uint64_t value_of(const Word& word) const;
  [[nodiscard]] uint64_t meaning_of(const Word& word, uint64_t came, CmAttribute attribute);

  const Script& script_;
  uint32_t salt_;                      ///< of the peer's numbers
  std::optional<uint64_t> requested_;  ///< the transaction of the device's last REQ
  CommId ours_;                        ///< of the device's last communication
  Psn next_psn_;                       ///< of the packets to QP1
  std::map<std::string, uint64_t, std::less<>> chosen_;  ///< by librdmacm, by the field's name
  std::set<MadBytes> seen_;
  size_t answers_expected_ = 0;     ///< ANSWER_DISCONNECT statements to come
  std::deque<SentPacket> answers_;  ///< DREPs that came before their statement
};

}  // namespace urxe::drill
