// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/engine/engine.h"
#include "packet/engine/frames/frame_port.h"
#include "packet/wire/ethernet/frame_batch.h"
#include "transport/device/device.h"

namespace urxe {

/// The frames of a device's queue pairs for raw packets, between the device and its port. All
/// functions need the device's lock, except those that say so.
class FrameTraffic {
 public:
  /// Opens the port, unless it is open. Prints errors on stderr: EPERM and the like.
  Expected<void, Errno> open(uint32_t ifindex);
  [[nodiscard]] bool is_open() const { return port_ != nullptr; }
  /// Has the port receive what the device's flow steering rules ask for. Prints errors on stderr.
  Expected<void, Errno> follow_rules(const Device& device);

  /// Hands what has arrived to the device. False: nothing has.
  bool receive(Device& device, Instant now);
  /// Sends what the device has.
  void transmit(Device& device, Instant now);
  /// Adds what the port has lost.
  void add_losses(EngineCounters& totals) const;

  // For the thread that waits; without the lock.

  /// Readable when frames have arrived; -1: there is no port.
  [[nodiscard]] int receive_fd() const { return receive_fd_.load(); }
  /// Writable when frames that wait can be sent; -1: none wait.
  [[nodiscard]] int blocked_fd() const { return blocked_fd_.load(); }

  void after_fork_in_child();

 private:
  std::unique_ptr<FramePort> port_;
  std::unique_ptr<FrameBatch> batch_;
  std::atomic<int> receive_fd_{-1};
  std::atomic<int> blocked_fd_{-1};
};

}  // namespace urxe
