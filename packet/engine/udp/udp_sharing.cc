// SPDX-License-Identifier: BSD-2-Clause
// How a UdpEngine shares port 4791 with other processes: probes, calibration, and the timer for
// both calibration and waiting packets. See packet/sharing/README.md.
#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>

#include "packet/engine/udp/udp.h"
#include "packet/host/clock.h"
#include "packet/host/patient_poll.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// How long leave() waits for the result of a search.
constexpr Duration kLeavingTime = milliseconds(5);
constexpr Duration kTick = milliseconds(1);

}  // namespace

void UdpEngine::take_probe(Receiver& receiver, const Flow& flow, const Probe& probe) {
  const Uncancelled uncancelled;
  // Only processes of this host probe, from the port that the user has; others get no answer.
  if (flow.source != receiver.local || flow.source_port != kRoceUdpPort) return;
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
  if (answers_.empty()) return;
  const Uncancelled uncancelled;
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
  if (!receiver.calibration->is_busy()) return;
  searching_ = true;
  start_ticking();
}

void UdpEngine::start_ticking() {
  if (ticking_) return;
  ticking_ = true;
  set_timer(kTick);
  calls_until_look_ = 0;
}

void UdpEngine::tick() {
  const Uncancelled uncancelled;
  const Instant t = clock_now();
  searching_ = false;
  for (Receiver& receiver : receivers_) {
    if (!receiver.calibration) continue;
    receiver.calibration->tick(t);
    searching_ = searching_ || receiver.calibration->is_busy();
  }
  if (config_.sharing->has_waiting()) config_.sharing->retry(t);
  ticking_ = searching_ || config_.sharing->has_waiting();
  next_tick_ = config_.sharing->is_congested() ? t : t + kTick;
  // Setting the timer also makes it unreadable again.
  if (!ticking_ || t >= timer_due_) set_timer(ticking_ ? kTick : Duration{});
}

void UdpEngine::set_timer(Duration period) {
  timer_due_ = clock_now() + period;
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
  if (config_.sharing->has_company()) {
    receiver.calibration->want(PortCalibration::Reason::kJoined, clock_now());
  }
  tick();
}

/// Gives a search for the order of the sockets a few milliseconds, and forwards packets for others
/// meanwhile.
void UdpEngine::search_before_leaving(Receiver& receiver) {
  receiver.calibration->want(PortCalibration::Reason::kLeaves, clock_now());
  const Instant end = clock_now() + kLeavingTime;
  constexpr timespec kPause{0, 1'000'000};
  pollfd sources[2] = {{receiver.fd.get(), POLLIN, 0}, {config_.sharing->forward_fd(), POLLIN, 0}};
  while (receiver.calibration->is_busy() && clock_now() < end) {
    patient_poll(sources, &kPause);
    expect_more_ = true;
    packets_.clear();
    read_receiver(receiver);
    config_.sharing->receive_at_slot(packets_, answers_);
    take_answers();
    receiver.calibration->tick(clock_now());
  }
  packets_.clear();
}

}  // namespace urxe
