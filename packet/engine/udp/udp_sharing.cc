// SPDX-License-Identifier: BSD-2-Clause
// How a UdpEngine shares port 4791 with other processes: probes, calibration, and the timer for
// both calibration and waiting packets. See packet/sharing/README.md.
#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>

#include "packet/engine/udp/udp.h"
#include "packet/host/clock.h"

namespace urxe {
namespace {

/// How long open_address() and leave() wait for the result of a search.
constexpr Duration kCalibrationTime = milliseconds(5);
constexpr Duration kTick = milliseconds(1);

}  // namespace

void UdpEngine::take_probe(Receiver& receiver, const Flow& flow, const Probe& probe) {
  // Only processes of this host probe; others get no answer.
  if (flow.source != receiver.local) return;
  const uint32_t own = config_.sharing->slot();
  const ProbeAnswer answer{probe.token, probe.index, own};
  if (probe.prober == own) {
    answers_.push_back(answer);
    take_answers();
  } else {
    config_.sharing->answer(probe.prober, answer);
  }
}

void UdpEngine::take_from_others() {
  calls_until_look_ = 0;  // there may be more than one call takes
  config_.sharing->receive(packets_, answers_);
  take_answers();
}

void UdpEngine::take_answers() {
  const Instant t = clock_now();
  for (const ProbeAnswer& answer : answers_) {
    for (const Receiver& receiver : receivers_) {
      if (receiver.calibration) receiver.calibration->take(answer, t);
    }
  }
  answers_.clear();
}

void UdpEngine::went_astray(Receiver& receiver) {
  if (!receiver.calibration) return;
  receiver.calibration->want(PortCalibration::Reason::kAstray, clock_now());
  if (receiver.calibration->is_busy()) start_ticking();
}

void UdpEngine::start_ticking() {
  if (!ticking_) set_timer(kTick);
  ticking_ = true;
  calls_until_look_ = 0;
}

void UdpEngine::tick() {
  const Instant t = clock_now();
  ticking_ = false;
  for (Receiver& receiver : receivers_) {
    if (!receiver.calibration) continue;
    receiver.calibration->tick(t);
    ticking_ = ticking_ || receiver.calibration->is_busy();
  }
  if (config_.sharing->has_waiting()) config_.sharing->retry(t);
  ticking_ = ticking_ || config_.sharing->has_waiting();
  next_tick_ = config_.sharing->has_waiting() ? t : t + kTick;
  // Setting the timer also makes it unreadable again.
  set_timer(ticking_ ? kTick : Duration{});
}

void UdpEngine::set_timer(Duration period) const {
  itimerspec setting{};
  setting.it_value.tv_nsec = period.ns;
  timerfd_settime(timer_.get(), 0, &setting, nullptr);
}

/// Joins the group of sockets on an address. If other processes share it, begins to search for the
/// order of the sockets.
void UdpEngine::meet_others(Receiver& receiver) {
  receiver.calibration = std::make_unique<PortCalibration>(
      receiver.fd.get(), SocketAddress(receiver.local, kRoceUdpPort, config_.interface_index),
      config_.sharing->slot(), config_.sharing->program_pace(receiver.local));
  if (config_.sharing->has_company()) calibrate(receiver, PortCalibration::Reason::kJoined);
  tick();
}

/// Gives a search for the order of the sockets a few milliseconds. Packets for this process are
/// lost meanwhile; those for others are forwarded.
void UdpEngine::calibrate(Receiver& receiver, PortCalibration::Reason reason) {
  receiver.calibration->want(reason, clock_now());
  const Instant end = clock_now() + kCalibrationTime;
  pollfd sources[2] = {{receiver.fd.get(), POLLIN, 0}, {config_.sharing->forward_fd(), POLLIN, 0}};
  while (receiver.calibration->is_busy() && clock_now() < end) {
    poll(sources, 2, 1);
    expect_more_ = true;
    packets_.clear();
    read_receiver(receiver);
    config_.sharing->receive_at_slot(packets_, answers_);
    take_answers();
    if (reason == PortCalibration::Reason::kJoined) counters_.lost_in_opening += packets_.size();
    receiver.calibration->tick(clock_now());
  }
  packets_.clear();
}

}  // namespace urxe
