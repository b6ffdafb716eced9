// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/interop/replay/frame.h"
#include "transport/device/device.h"

namespace urxe::replay {

/// The device under test, driven as device.h asks for: whatever happens to it, what it then has to
/// send is taken at once.
class Adapter {
 public:
  explicit Adapter(const Gid& gid);

  [[nodiscard]] Device& device() { return device_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] PdId pd() const { return pd_; }
  [[nodiscard]] Instant now() const { return now_; }

  /// Lets the time pass, the timers run when they are due.
  void run_until(Instant time);
  void receive(const RxPacket& packet);
  /// Takes what is to be sent: after posting.
  void transmit();

  /// All that was sent so far.
  [[nodiscard]] const std::deque<Frame>& sent() const { return sent_; }
  /// What was sent and is no valid packet.
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  void keep(const RxPacket& packet);

  Device device_;
  PdId pd_;
  Instant now_{};
  TxBatch batch_{TxBatch::Limits{}};
  std::deque<std::vector<uint8_t>> bytes_;  ///< of sent_
  std::deque<Frame> sent_;
  std::vector<std::string> errors_;
};

}  // namespace urxe::replay
