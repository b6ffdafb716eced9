// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/drill/stage.h"
#include "transport/cm/connection_manager.h"

namespace urxe::drill {

/// A connection manager in virtual time; the script is its consumer and its peer. What is sent are
/// MADs, and events are of CmEvent::Kind.
class CmStage final : public Stage {
 public:
  CmStage();

  Outcome act(const Statement& statement) override;
  void settle() override;
  void pass_until(Instant end, bool until_sent) override;
  void await(const std::function<bool()>& holds) override;
  Window window(const std::optional<When>& when, Instant base) override;
  [[nodiscard]] Duration quiet() const override { return {}; }
  Comparison compare(const Statement& statement, const SentPacket& packet) override;
  [[nodiscard]] std::string show(const SentPacket& packet) const override;
  [[nodiscard]] std::string event_name(uint64_t event) const override;
  /// Scripts of this stage cannot ask.
  ibv_qp_state state() override { return IBV_QPS_UNKNOWN; }
  std::optional<std::vector<uint8_t>> memory(const std::string&, size_t, size_t) override {
    return std::nullopt;
  }
  [[nodiscard]] Names names() const override { return {}; }
  [[nodiscard]] Instant now() const override { return now_; }

 private:
  Expected<void, Errno> call(const Statement& statement);
  void message_in(const Statement& statement);
  [[nodiscard]] uint64_t value_of_id(const Word& word) const;

  Instant now_{1'000'000'000};
  ConnectionManager cm_;
  CommId current_;                     ///< of the last CONNECT or REQUEST
  std::optional<uint64_t> requested_;  ///< the transaction of the last REQ
};

}  // namespace urxe::drill
