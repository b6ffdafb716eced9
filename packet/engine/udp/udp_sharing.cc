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

constexpr Duration kJoinTime = milliseconds(5);
constexpr Duration kTick = milliseconds(1);
constexpr Duration kMaxCalibrationPause = seconds(1);

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
    for (Receiver& receiver : receivers_) {
      if (!receiver.calibration) continue;
      receiver.calibration->take(answer, t);
      // A late answer can begin another search.
      if (receiver.calibration->running()) start_ticking();
    }
  }
  answers_.clear();
}

void UdpEngine::start_calibration(Receiver& receiver) {
  if (!receiver.calibration || receiver.calibration->running()) return;
  const Instant t = clock_now();
  if (t < receiver.calibrate_after) return;
  ++counters_.calibrations;
  // After a search that found nothing new the next one waits longer.
  if (receiver.calibration->found_news()) receiver.calibration_pause = kMinCalibrationPause;
  receiver.calibrate_after = t + receiver.calibration_pause;
  receiver.calibration_pause = std::min(receiver.calibration_pause * 2, kMaxCalibrationPause);
  receiver.calibration->start(t);
  start_ticking();
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
    ticking_ = ticking_ || receiver.calibration->running();
  }
  if (config_.sharing->has_waiting()) config_.sharing->retry(t);
  ticking_ = ticking_ || config_.sharing->has_waiting();
  // Setting the timer also makes it unreadable again.
  set_timer(ticking_ ? kTick : Duration{});
}

void UdpEngine::set_timer(Duration period) const {
  itimerspec setting{};
  setting.it_value.tv_nsec = period.ns;
  timerfd_settime(timer_.get(), 0, &setting, nullptr);
}

/// Joins the group of sockets on an address: finds their order, within a few milliseconds.
void UdpEngine::meet_others(Receiver& receiver) {
  receiver.calibration = std::make_unique<PortCalibration>(
      receiver.fd.get(), SocketAddress(receiver.local, kRoceUdpPort, config_.interface_index),
      config_.sharing->slot());
  start_calibration(receiver);
  const Instant end = clock_now() + kJoinTime;
  pollfd sources[2] = {{receiver.fd.get(), POLLIN, 0}, {config_.sharing->forward_fd(), POLLIN, 0}};
  while (receiver.calibration->running() && clock_now() < end) {
    poll(sources, 2, 1);
    expect_more_ = true;
    packets_.clear();
    read_receiver(receiver);
    config_.sharing->receive_at_slot(packets_, answers_);
    take_answers();
    counters_.lost_in_opening += packets_.size();
    receiver.calibration->tick(clock_now());
  }
  packets_.clear();
  // Late answers still count.
  if (receiver.calibration->running()) receiver.calibration->conclude();
  tick();
}

}  // namespace urxe
