// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/drill/stage.h"
#include "transport/device/device.h"

namespace urxe::drill {

/// The transport, in virtual time: time passes only where a script says so.
class VirtualStage final : public Stage {
 public:
  VirtualStage();

  Outcome act(const Statement& statement) override;
  void settle() override;
  void pass_until(Instant end, bool until_sent) override;
  void await(const std::function<bool()>& holds) override {
    settle();
    holds();
  }
  Window window(const std::optional<When>& when, Instant base) override;
  [[nodiscard]] Duration quiet() const override { return {}; }
  ibv_qp_state state() override { return qp_->state(); }
  std::optional<std::vector<uint8_t>> memory(const std::string& region, size_t offset,
                                             size_t length) override;
  [[nodiscard]] Names names() const override;
  [[nodiscard]] Instant now() const override { return now_; }

 private:
  struct Region {
    std::vector<uint8_t> bytes;
    MemoryRegion* region = nullptr;
  };
  bool make_qp(const Statement& statement);
  bool add_region(const Statement& statement);
  bool post(const Statement& statement);
  bool receive(const Statement& statement);
  bool set_limit(const Statement& statement);
  bool modify(const Statement& statement);
  void packet_in(const Statement& statement);
  [[nodiscard]] Sge local(uint64_t offset, uint64_t length) const;
  [[nodiscard]] uint32_t key_of(const Word& word) const;

  Instant now_{1'000'000'000};
  std::map<std::string, Region, std::less<>> regions_;  ///< "local": of what is posted
  std::unique_ptr<Device> device_;
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  SharedReceiveQueue* srq_ = nullptr;
  QueuePair* qp_ = nullptr;
  uint32_t qkey_ = 0x11111111;
};

}  // namespace urxe::drill
