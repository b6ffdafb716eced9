// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/drill/script.h"
#include "transport/device/device.h"

namespace urxe::drill {

/// Of the receive buffers in the local memory; `memory local` begins there.
inline constexpr size_t kReceiveOffset = 65536;

/// A packet that the device has sent.
struct SentPacket {
  Instant when;
  std::vector<uint8_t> bytes;
  Flow flow;
};

/// The device under test, in virtual time: one queue pair (0x11), whose peer (0x22) is the script.
class Stage {
 public:
  Stage();

  /// The statements that act. False: the device has refused it.
  bool make_qp(const Statement& statement);
  bool add_region(const Statement& statement);
  bool post(const Statement& statement);
  bool receive(const Statement& statement);
  bool modify(const Statement& statement);
  void packet_in(const Statement& statement);

  /// Lets the device work without letting time pass.
  void settle();
  /// Lets time pass, timer by timer, until `end`; or, with `until_sent`, until a packet waits.
  void pass_until(Instant end, bool until_sent);

  [[nodiscard]] uint32_t key_of(const Word& word) const;
  [[nodiscard]] const std::vector<uint8_t>& memory(const std::string& name) const;
  [[nodiscard]] ibv_qp_state state() const { return qp_->state(); }

  Instant now{1'000'000'000};
  std::deque<SentPacket> sent;
  std::deque<ibv_wc> completions;
  std::deque<ibv_event_type> events;

 private:
  struct Region {
    std::vector<uint8_t> bytes;
    MemoryRegion* region = nullptr;
  };
  [[nodiscard]] Sge local(uint64_t offset, uint64_t length) const;

  std::map<std::string, Region, std::less<>> regions_;  ///< "local": of what is posted
  std::unique_ptr<Device> device_;
  PdId pd_;
  CompletionQueue* cq_ = nullptr;
  QueuePair* qp_ = nullptr;
  uint32_t qkey_ = 0x11111111;
};

}  // namespace urxe::drill
