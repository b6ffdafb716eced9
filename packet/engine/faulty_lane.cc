// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/faulty_lane.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <utility>

#include "packet/base/mix_bits.h"
#include "packet/host/clock.h"
#include "packet/host/held_signals.h"
#include "packet/host/uncancelled.h"
#include "packet/wire/icrc.h"

// Copies of packets need memory, unlike the rest of the data path. A signal handler of the
// application may allocate, too, as perftest's for SIGALRM does. If it interrupted an allocation
// here, it would wait for the allocator's lock for ever: hence HeldSignals.

namespace urxe {
namespace {

constexpr uint64_t kIncomingSeed = kGoldenRatio;  // keeps the two directions apart
/// Of packets that wait for room: before all that are on their way.
constexpr Instant kOverdue{INT64_MIN};

TxBatch::Limits single_packets(TxBatch::Limits limits) {
  limits.segments_per_message = 1;
  limits.identification = Identification::kZero;
  return limits;
}

/// With an ICRC, which corruption must break.
FaultLine::Packet copy_of(const RxPacket& packet) {
  FaultLine::Packet copy{
      {packet.bytes.begin(), packet.bytes.end()}, packet.flow, packet.ipv4_identification};
  if (!packet.has_icrc) write_icrc(copy.flow, copy.identification.value_or(0), copy.bytes);
  return copy;
}

}  // namespace

FaultyLane::FaultyLane(EngineLane& inner, const TxBatch::Limits& limits, const FaultPlan& plan,
                       size_t index, std::function<void()> sent_delayed)
    : ForwardingLane(inner),
      outgoing_(plan.seed ^ mix_bits(index), plan.outgoing),
      incoming_(plan.seed ^ mix_bits(index) ^ kIncomingSeed, plan.incoming),
      outgoing_delay_(plan.outgoing),
      incoming_delay_(plan.incoming),
      sent_delayed_(std::move(sent_delayed)),
      batch_(single_packets(limits)) {
  fates_.reserve(limits.packets);
  packets_.reserve(limits.packets);
  open_wait_fd();
}

void FaultyLane::open_wait_fd() {
  if (inner_lane().wait_fd() < 0) return;
  bell_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  FileDescriptor all(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (!bell_ || !timer_ || !all) return;
  for (const int fd : {bell_.get(), timer_.get(), inner_lane().wait_fd()}) {
    if (epoll_ctl(all.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
  }
  wait_ = std::move(all);
}

int FaultyLane::wait_fd() const {
  return wait_ ? wait_.get() : inner_lane().wait_fd();
}

/// Wakes the thread that sleeps on wait_fd(), so that it calls receive(): packets that are held
/// back do not wait for a later packet that may never come.
void FaultyLane::ring_while_holding_back() {
  const bool holds_back = outgoing_.holds_back() || incoming_.holds_back();
  if (holds_back == ringing_ || !wait_) return;
  ringing_ = holds_back;
  if (holds_back) {
    uncancelled::ring_bell(bell_.get());
  } else {
    uncancelled::silence_bell(bell_.get());
  }
}

/// Draws the fates of the packets that come next. Returns true if the packets can be passed on as
/// they are, but for those that are lost.
bool FaultyLane::draw(FaultLine& line, size_t size) {
  fates_.push_back(line.draw(size));
  return fates_.back().is_simple();
}

std::span<const RxPacket> FaultyLane::receive() {
  if (outgoing_.holds_back() || outgoing_delay_.holds_packets()) flush_outgoing();
  if (has_left()) (void)send_left();
  const std::span<const RxPacket> arrived = inner_lane().receive();
  fates_.clear();
  bool simple = !incoming_.holds_back() && !incoming_delay_.holds_packets();
  for (const RxPacket& packet : arrived) simple = draw(incoming_, packet.bytes.size()) && simple;
  packets_.clear();
  if (simple) {
    take_simple(arrived);
  } else {
    take_copies(arrived);
  }
  ring_while_holding_back();
  set_timer();
  return packets_;
}

void FaultyLane::take_simple(std::span<const RxPacket> arrived) {
  for (size_t i = 0; i < arrived.size(); ++i) {
    incoming_.count(fates_[i]);
    if (!fates_[i].lost) packets_.push_back(arrived[i]);
  }
}

void FaultyLane::take_copies(std::span<const RxPacket> arrived) {
  const HeldSignals signals;
  received_.clear();
  for (size_t i = 0; i < arrived.size(); ++i) {
    incoming_.pass(copy_of(arrived[i]), fates_[i], received_);
  }
  // An empty result would mean that nothing waits, and the caller might go to sleep.
  if (received_.empty()) incoming_.flush(received_);
  if (incoming_delay_.holds_packets()) receive_delayed();
  for (const FaultLine::Packet& packet : received_) {
    packets_.push_back({packet.bytes, packet.flow, packet.identification});
  }
}

size_t FaultyLane::transmit(TxBatch& batch) {
  const size_t packets = batch.packets();
  if (is_drawn_) {
    pass_on(batch);
    if (has_left()) (void)send_left();
  } else if (!has_left() || send_left()) {
    draw_and_send(batch);
  }
  ring_while_holding_back();
  set_timer();
  return packets - batch.packets();
}

void FaultyLane::draw_and_send(TxBatch& batch) {
  fates_.clear();
  bool simple = !outgoing_.holds_back() && !outgoing_delay_.holds_packets();
  batch.for_each_packet([&](const TxBatch::Message&, size_t, std::span<const uint8_t> packet) {
    simple = draw(outgoing_, packet.size()) && simple;
  });
  if (simple) {
    transmit_simple(batch);
  } else {
    transmit_copies(batch);
  }
}

/// What the inner lane has no room for comes here again.
void FaultyLane::pass_on(TxBatch& batch) {
  inner_lane().transmit(batch);
  is_drawn_ = !batch.empty();
}

void FaultyLane::transmit_simple(TxBatch& batch) {
  bool lossless = true;
  for (const FaultLine::Fate& fate : fates_) {
    outgoing_.count(fate);
    lossless = lossless && !fate.lost;
  }
  if (!lossless) {
    const HeldSignals signals;
    batch.remove_packets([&](size_t i) { return fates_[i].lost; });
  }
  pass_on(batch);
}

void FaultyLane::transmit_copies(TxBatch& batch) {
  const HeldSignals signals;
  batch.gather();
  batch.seal();  // corrupted packets must keep their ICRC
  std::deque<FaultLine::Packet> out;
  auto fate = fates_.begin();
  batch.for_each_packet(
      [&](const TxBatch::Message& message, size_t segment, std::span<const uint8_t> packet) {
        FaultLine::Packet copy{{packet.begin(), packet.end()}, message.flow, 0};
        if (batch.identification(segment) != 0) write_icrc(message.flow, 0, copy.bytes);
        outgoing_.pass(std::move(copy), *fate++, out);
      });
  batch.clear();
  send_delayed(std::move(out));
}

/// Sends the packets, and those that are due, when they have been long enough on their way.
void FaultyLane::send_delayed(std::deque<FaultLine::Packet> packets) {
  if (outgoing_delay_.holds_packets()) {
    const Instant now = clock_now();
    for (FaultLine::Packet& packet : packets) {
      if (!outgoing_delay_.put(std::move(packet), now)) outgoing_.count_overflow();
    }
    packets.clear();
    outgoing_delay_.take(now, packets);
  }
  if (!packets.empty()) send(std::move(packets));
}

/// Puts what has been received into the line, and receives what comes out of it.
void FaultyLane::receive_delayed() {
  const Instant now = clock_now();
  for (FaultLine::Packet& packet : received_) {
    if (!incoming_delay_.put(std::move(packet), now)) incoming_.count_overflow();
  }
  received_.clear();
  incoming_delay_.take(now, received_);
}

/// Packets come out in order, so that a timer that ends early is as good as a new one: it needs a
/// system call only when it has ended.
void FaultyLane::set_timer() {
  if (!outgoing_delay_.holds_packets() && !incoming_delay_.holds_packets()) return;
  std::optional<Instant> next = outgoing_delay_.next();
  if (const auto other = incoming_delay_.next(); other && (!next || *other < *next)) next = other;
  if (!next && !timer_time_) return;
  if (next && timer_time_ && *timer_time_ <= *next && *timer_time_ > clock_now()) return;
  timer_time_ = next;
  itimerspec time{};
  if (next) time.it_value = {next->ns / 1000000000, next->ns % 1000000000};
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
}

/// Sends the outgoing packets that are held back or due.
void FaultyLane::flush_outgoing() {
  const HeldSignals signals;
  std::deque<FaultLine::Packet> late;
  outgoing_.flush(late);
  send_delayed(std::move(late));
}

void FaultyLane::send_held_back() {
  flush_outgoing();
  ring_while_holding_back();
  set_timer();
}

std::optional<Instant> FaultyLane::next_due() const {
  return has_left() ? kOverdue : outgoing_delay_.next();
}

std::optional<Instant> FaultyLane::last_due() const {
  const std::optional<Instant> last = outgoing_delay_.last();
  return has_left() ? std::max(last.value_or(kOverdue), kOverdue) : last;
}

void FaultyLane::send_rest() {
  std::deque<FaultLine::Packet> rest;
  outgoing_delay_.take_all(rest);
  outgoing_.flush(rest);
  send(std::move(rest));
  const size_t lost = batch_.packets() + left_.size();
  for (size_t i = 0; i < lost; ++i) outgoing_.count_overflow();
  forget_rest();
}

void FaultyLane::forget_rest() {
  std::deque<FaultLine::Packet> rest;
  outgoing_delay_.take_all(rest);
  outgoing_.flush(rest);
  left_.clear();
  batch_.clear();
}

void FaultyLane::send(std::deque<FaultLine::Packet> packets) {
  for (FaultLine::Packet& packet : packets) left_.push_back(std::move(packet));
  if (has_left()) (void)send_left();
}

/// False: the inner lane has no room, or waits for the caller's batch.
bool FaultyLane::send_left() {
  if (is_drawn_) return false;
  const HeldSignals signals;
  while (has_left()) {
    // A batch that has found no room stays as it is. Each packet came out of a batch with limits no
    // larger than these, so an empty one takes it.
    for (bool more = batch_.empty(); more && !left_.empty();) {
      more = batch_.append_sealed(left_.front().flow, left_.front().bytes);
      if (more) left_.pop_front();
    }
    inner_lane().transmit(batch_);
    if (!batch_.empty()) return false;
  }
  if (sent_delayed_) sent_delayed_();
  return true;
}

}  // namespace urxe
