// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "packet/base/mix_bits.h"
#include "packet/wire/icrc.h"

namespace urxe {
namespace {

constexpr uint64_t kIncomingSeed = kGoldenRatio;  // keeps the two directions apart

TxBatch::Limits single_packets(TxBatch::Limits limits) {
  limits.segments_per_message = 1;
  limits.identification = Identification::kZero;
  limits.seals = true;  // corrupted packets must keep their ICRC
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

/// splitmix64: the same on every machine, which the standard library's distributions are not.
uint64_t FaultLine::random() {
  return mix_bits(state_ += kGoldenRatio);
}

bool FaultLine::happens(uint32_t per_million) {
  return per_million != 0 && random() % 1000000 < per_million;
}

void FaultLine::flip_a_bit(Packet& packet) {
  if (packet.bytes.empty()) return;
  const uint64_t bit = random() % (packet.bytes.size() * 8);
  packet.bytes[bit / 8] = static_cast<uint8_t>(packet.bytes[bit / 8] ^ (1U << (bit % 8)));
}

void FaultLine::pass(Packet packet, std::deque<Packet>& out) {
  if (happens(rates_.loss)) {
    ++counters_.lost;
    return;
  }
  if (happens(rates_.duplication)) {
    ++counters_.duplicated;
    out.push_back(packet);
  }
  if (happens(rates_.corruption)) {
    ++counters_.corrupted;
    flip_a_bit(packet);
  }
  if (happens(rates_.reordering)) {
    ++counters_.reordered;
    held_.push_back({std::move(packet), 1 + static_cast<uint32_t>(random() % kMaxHeldBack)});
    return;
  }
  ++counters_.passed;
  out.push_back(std::move(packet));
  let_overtake(out);
}

void FaultLine::let_overtake(std::deque<Packet>& out) {
  for (Held& held : held_) {
    if (--held.passes_left == 0) out.push_back(std::move(held.packet));
  }
  std::erase_if(held_, [](const Held& held) { return held.passes_left == 0; });
}

void FaultLine::flush(std::deque<Packet>& out) {
  for (Held& held : held_) out.push_back(std::move(held.packet));
  held_.clear();
}

FaultEngine::FaultEngine(std::unique_ptr<PacketEngine> engine, const FaultPlan& plan)
    : ForwardingEngine(std::move(engine)),
      outgoing_(plan.seed, plan.outgoing),
      incoming_(plan.seed ^ kIncomingSeed, plan.incoming),
      batch_(single_packets(inner().batch_limits())) {
  open_wait_fd();
}

void FaultEngine::open_wait_fd() {
  if (inner().wait_fd() < 0) return;
  bell_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor both(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (bell_ && both && epoll_ctl(both.get(), EPOLL_CTL_ADD, bell_.get(), &event) == 0 &&
      epoll_ctl(both.get(), EPOLL_CTL_ADD, inner().wait_fd(), &event) == 0) {
    wait_ = std::move(both);
  }
}

int FaultEngine::wait_fd() const {
  return wait_ ? wait_.get() : inner().wait_fd();
}

/// Wakes the thread that sleeps on wait_fd(), so that it calls receive(): packets that are held
/// back do not wait for a later packet that may never come.
void FaultEngine::ring_while_holding_back() {
  const bool holds_back = outgoing_.holds_back() || incoming_.holds_back();
  if (holds_back == ringing_ || !wait_) return;
  ringing_ = holds_back;
  if (holds_back) {
    eventfd_write(bell_.get(), 1);
  } else {
    eventfd_t count = 0;
    eventfd_read(bell_.get(), &count);
  }
}

TxBatch::Limits FaultEngine::batch_limits() const {
  return batch_.limits();
}

std::span<const RxPacket> FaultEngine::receive() {
  std::deque<FaultLine::Packet> late;
  outgoing_.flush(late);
  if (!late.empty()) send(late);
  received_.clear();
  packets_.clear();
  for (const RxPacket& packet : inner().receive()) incoming_.pass(copy_of(packet), received_);
  // An empty result would mean that nothing waits, and the caller might go to sleep.
  if (received_.empty()) incoming_.flush(received_);
  for (const FaultLine::Packet& packet : received_) {
    packets_.push_back({packet.bytes, packet.flow, packet.identification});
  }
  ring_while_holding_back();
  return packets_;
}

void FaultEngine::transmit(TxBatch& batch) {
  batch.unsegment();
  std::deque<FaultLine::Packet> out;
  for (const TxBatch::Message& message : batch.messages()) {
    const auto bytes = batch.bytes(message);
    outgoing_.pass({{bytes.begin(), bytes.end()}, message.flow, 0}, out);
  }
  batch.clear();
  send(out);
  ring_while_holding_back();
}

EngineCounters FaultEngine::totals() const {
  EngineCounters totals = inner().totals();
  totals.outgoing_faults = outgoing_.counters();
  totals.incoming_faults = incoming_.counters();
  return totals;
}

void FaultEngine::send(const std::deque<FaultLine::Packet>& packets) {
  for (const FaultLine::Packet& packet : packets) {
    if (batch_.append_sealed(packet.flow, packet.bytes)) continue;
    inner().transmit(batch_);
    // It came out of a batch with limits no larger than these, so an empty one takes it.
    [[maybe_unused]] const bool added = batch_.append_sealed(packet.flow, packet.bytes);
  }
  if (!batch_.empty()) inner().transmit(batch_);
}

}  // namespace urxe
