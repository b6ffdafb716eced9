// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/progress/frame_traffic.h"

#include <cerrno>
#include <utility>

#include "provider/runtime/errors.h"

namespace urxe {
namespace {

Unexpected<Errno> report(const EngineError& failure) {
  print_failure(failure.what, failure.errno_value);
  return error(failure.errno_value != 0 ? failure.errno_value : EIO);
}

}  // namespace

Expected<void, Errno> FrameTraffic::open(uint32_t ifindex) {
  if (port_) return {};
  auto batch = std::make_unique<FrameBatch>();
  auto port = FramePort::open(ifindex);
  if (!port) return report(port.error());
  batch_ = std::move(batch);
  port_ = *std::move(port);
  receive_fd_.store(port_->receive_fd());
  return {};
}

Expected<void, Errno> FrameTraffic::follow_rules(const Device& device) {
  if (!port_) return {};
  auto subscribed = port_->subscribe(device.frame_interest());
  if (!subscribed) return report(subscribed.error());
  return {};
}

bool FrameTraffic::receive(Device& device, Instant now) {
  if (!port_) return false;
  const auto frames = port_->receive();
  for (const RxFrame& frame : frames) device.receive_frame(frame, now);
  return !frames.empty();
}

/// While the socket's buffer is full the device keeps what it has.
void FrameTraffic::transmit(Device& device, Instant now) {
  if (!port_) return;
  for (bool more = true; more;) {
    if (batch_->empty()) more = device.transmit_frames(*batch_, now);
    if (batch_->empty()) break;
    port_->transmit(*batch_);
    if (!batch_->empty()) break;
    more = true;
  }
  blocked_fd_.store(batch_->empty() ? -1 : port_->transmit_fd());
}

void FrameTraffic::add_losses(EngineCounters& totals) const {
  if (!port_) return;
  const FramePort::Counters lost = port_->counters();
  totals.send_lost += lost.send_lost;
  totals.receive_lost += lost.receive_lost;
}

void FrameTraffic::after_fork_in_child() {
  receive_fd_.store(-1);
  blocked_fd_.store(-1);
  if (port_) port_->abandon();
  port_.reset();
}

}  // namespace urxe
