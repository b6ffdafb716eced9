// SPDX-License-Identifier: BSD-2-Clause
// What a UdpEngine does for those who share its port, and they for it.
#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "packet/engine/udp/udp.h"

namespace urxe {
namespace {

constexpr Duration kJoinTime = milliseconds(5);
constexpr Duration kTick = milliseconds(1);
constexpr Duration kRetryPause = microseconds(100);
constexpr Duration kRetryPauseEach = nanoseconds(250);
/// How long who leaves tries to hand over what is not its own.
constexpr Duration kLastWait = milliseconds(20);
constexpr Duration kMaxCalibrationPause = seconds(1);

Instant now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return {static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec};
}

}  // namespace

void UdpEngine::take_probe(Receiver& receiver, const Flow& flow, const Probe& probe) {
  // Only this host's processes probe; others get no answer.
  if (flow.source != receiver.local) return;
  const ProbeAnswer answer{probe.token, probe.index, config_.sharing->slot};
  if (probe.prober == config_.sharing->slot) {
    take_answer(answer);
  } else {
    send_answer(config_.sharing->forward_fd, probe.prober, answer);
  }
}

/// Packets to QP1 from offset `at` on, as many as have one owner; answers where they end.
size_t UdpEngine::take_gsi(const ReceivedDatagram& datagram, size_t at) {
  const uint32_t own = config_.sharing->slot;
  const auto packet_at = [&](size_t offset) {
    return datagram.bytes.subspan(offset,
                                  std::min(datagram.segment_size, datagram.bytes.size() - offset));
  };
  const GsiOwner owner = gsi_owner(packet_at(at));
  size_t end = at + packet_at(at).size();
  while (end < datagram.bytes.size() && owner_slot(packet_at(end), own) == kGsiOwner &&
         gsi_owner(packet_at(end)) == owner) {
    end += packet_at(end).size();
  }
  const ForwardedPackets packets{datagram.flow, datagram.segment_size,
                                 datagram.bytes.subspan(at, end - at)};
  if (gsi_->pass_on(owner, packets, now())) keep(packets);
  if (gsi_->has_waiting() || forward_queue_->has_waiting()) start_ticking();
  return end;
}

void UdpEngine::keep(const ForwardedPackets& packets) {
  for (size_t at = 0; at < packets.bytes.size(); at += packets.segment_size) {
    const size_t size = std::min(packets.segment_size, packets.bytes.size() - at);
    packets_.push_back({packets.bytes.subspan(at, size), packets.flow, std::nullopt});
  }
}

void UdpEngine::take_returned() {
  received_.clear();
  received_.swap(returned_);
  for (const GsiSharing::Returned& own : received_) keep({own.flow, own.segment_size, own.bytes});
}

void UdpEngine::pass_on(Receiver& receiver, uint32_t slot, const ForwardedPackets& packets) {
  if (!forward_queue_->send(slot_name(slot), packets, now())) {
    counters_.sharing.not_owner +=
        (packets.bytes.size() + packets.segment_size - 1) / packets.segment_size;
    return;
  }
  if (forward_queue_->has_waiting()) start_ticking();
  // Its owner lives, so the kernel should not have given it to us.
  start_calibration(receiver);
}

void UdpEngine::read_forwarded(int fd) {
  calls_until_look_ = 0;  // more than the reader's buffers hold may wait
  for (;;) {
    const auto item = forward_reader_->read(fd);
    ++counters_.rx_syscalls;
    if (const auto* packets = std::get_if<ForwardedPackets>(&item)) {
      take_forwarded(*packets);
    } else if (const auto* answer = std::get_if<ProbeAnswer>(&item)) {
      take_answer(*answer);
    } else {
      return;
    }
  }
}

void UdpEngine::take_forwarded(const ForwardedPackets& packets) {
  const uint32_t own = config_.sharing->slot;
  for (size_t at = 0; at < packets.bytes.size(); at += packets.segment_size) {
    const auto packet =
        packets.bytes.subspan(at, std::min(packets.segment_size, packets.bytes.size() - at));
    const uint32_t owner = owner_slot(packet, own);
    if (owner != own && owner != kGsiOwner) {
      ++counters_.sharing.not_owner;  // never passed on a second time: no loops
      continue;
    }
    ++counters_.sharing.rx_forwarded;
    packets_.push_back({packet, packets.flow, std::nullopt});
  }
}

void UdpEngine::take_answer(const ProbeAnswer& answer) {
  const Instant t = now();
  for (Receiver& receiver : receivers_) {
    if (!receiver.calibration) continue;
    receiver.calibration->take(answer, t);
    // A late answer may have begun another search.
    if (receiver.calibration->running()) start_ticking();
  }
}

void UdpEngine::start_calibration(Receiver& receiver) {
  if (!receiver.calibration || receiver.calibration->running()) return;
  const Instant t = now();
  if (t < receiver.calibrate_after) return;
  ++counters_.sharing.calibrations;
  // A search that finds nothing new makes the next one wait longer.
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
  const Instant t = now();
  ticking_ = false;
  for (Receiver& receiver : receivers_) {
    if (!receiver.calibration) continue;
    receiver.calibration->tick(t);
    ticking_ = ticking_ || receiver.calibration->running();
  }
  if (gsi_ && gsi_->has_waiting()) {
    for (GsiSharing::Returned& own : gsi_->retry(t)) returned_.push_back(std::move(own));
  }
  if (forward_queue_ && forward_queue_->has_waiting()) retry_forwarding(t);
  ticking_ = ticking_ || (gsi_ && gsi_->has_waiting()) ||
             (forward_queue_ && forward_queue_->has_waiting());
  // Setting it anew also takes back that it has expired.
  set_timer(ticking_ ? kTick : Duration{});
}

void UdpEngine::retry_forwarding(Instant t) {
  if (t < retry_forwarding_at_) return;
  // A try looks at all that waits: the more that is, the longer the pause.
  retry_forwarding_at_ =
      t + kRetryPause + kRetryPauseEach * static_cast<int64_t>(forward_queue_->size());
  forward_queue_->retry(t);
}

/// Others' packets that still wait for room in their owners' queues.
void UdpEngine::finish_forwarding() {
  const Instant end = now() + kLastWait;
  while (forward_queue_->has_waiting() && now() < end) {
    const timespec pause{0, kRetryPause.ns};
    nanosleep(&pause, nullptr);
    forward_queue_->retry(now());
  }
}

void UdpEngine::set_timer(Duration period) const {
  itimerspec setting{};
  setting.it_value.tv_nsec = period.ns;
  timerfd_settime(timer_.get(), 0, &setting, nullptr);
}

/// Joins those that share the port of an address.
void UdpEngine::meet_others(Receiver& receiver) {
  receiver.calibration = std::make_unique<PortCalibration>(
      receiver.fd.get(), SocketAddress(receiver.local, kRoceUdpPort, config_.interface_index),
      config_.sharing->slot);
  start_calibration(receiver);
  const Instant end = now() + kJoinTime;
  pollfd sources[2] = {{receiver.fd.get(), POLLIN, 0}, {config_.sharing->forward_fd, POLLIN, 0}};
  while (receiver.calibration->running() && now() < end) {
    poll(sources, 2, 1);
    expect_more_ = true;
    packets_.clear();
    read_receiver(receiver);
    forward_reader_->rewind();
    read_forwarded(config_.sharing->forward_fd);
    counters_.sharing.lost_in_opening += packets_.size();
    receiver.calibration->tick(now());
  }
  packets_.clear();
  // Who has not answered by now may still do so later.
  if (receiver.calibration->running()) receiver.calibration->conclude();
  tick();
}

}  // namespace urxe
