// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/held_requests.h"

#include <cstring>
#include <new>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

bool HeldRequests::allocate() {
  slots_.reset(new (std::nothrow) Slot[kCapacity]);
  payloads_.reset(new (std::nothrow) uint8_t[kCapacity * kPayloadBytes]);
  if (slots_ && payloads_) return true;
  slots_.reset();
  return false;
}

bool HeldRequests::make_room(const QueuePair& qp) {
  if (!slots_ && !allocate()) return false;
  if (used_ < kCapacity) return true;
  QueuePair* oldest = holders_.front();
  if (oldest == &qp) return false;
  forget_all(*oldest);
  return true;
}

uint16_t HeldRequests::take_slot() {
  ++used_;
  if (free_ == HeldLine::kNone) return static_cast<uint16_t>(fresh_++);
  const uint16_t slot = free_;
  free_ = slots_[slot].next;
  return slot;
}

void HeldRequests::fill(uint16_t slot, const PacketView& packet) {
  Slot& to = slots_[slot];
  to.headers = packet.headers;
  to.identification = packet.ipv4_identification;
  to.bytes = static_cast<uint16_t>(packet.payload.size());
  if (to.bytes != 0) std::memcpy(payload(slot), packet.payload.data(), to.bytes);
}

void HeldRequests::link(HeldLine& line, uint16_t previous, uint16_t slot) {
  uint16_t& from = previous == HeldLine::kNone ? line.first : slots_[previous].next;
  slots_[slot].next = from;
  from = slot;
  if (previous == line.last) line.last = slot;
  ++line.count;
}

HeldRequests::Kept HeldRequests::keep(QueuePair& qp, const PacketView& packet, int32_t ahead) {
  HeldLine& line = qp.responder.held;
  if (ahead > kFurthest) return Kept::kNot;
  const Psn psn = packet.headers.bth.psn;
  const auto psn_of = [this](uint16_t slot) { return slots_[slot].headers.bth.psn; };
  if (line.last != HeldLine::kNone && psn_of(line.last) == psn) return Kept::kLastAlready;
  if (line.count >= kMostOfOne) return Kept::kNot;
  if (packet.payload.size() > kPayloadBytes || !make_room(qp)) return Kept::kNot;
  uint16_t previous = HeldLine::kNone;
  if (line.last != HeldLine::kNone && psn.is_after(psn_of(line.last))) {
    previous = line.last;
  } else {
    uint16_t at = line.first;
    for (; at != HeldLine::kNone && psn_of(at).is_before(psn); at = slots_[at].next) previous = at;
    if (at != HeldLine::kNone && psn_of(at) == psn) return Kept::kAlready;
  }
  const uint16_t slot = take_slot();
  fill(slot, packet);
  link(line, previous, slot);
  holders_.push_back(qp);
  return Kept::kNow;
}

Psn HeldRequests::end_of(const QueuePair& qp, uint16_t slot) const {
  const Headers& headers = slots_[slot].headers;
  const bool is_read = headers.bth.opcode.operation() == Operation::kReadRequest;
  const uint32_t bytes = is_read ? headers.reth.dma_length : 0;
  return headers.bth.psn + (bytes == 0 ? 1 : (bytes - 1) / qp.mtu + 1);
}

std::optional<Psn> HeldRequests::end(const QueuePair& qp) const {
  const HeldLine& line = qp.responder.held;
  if (line.last == HeldLine::kNone) return std::nullopt;
  return end_of(qp, line.last);
}

uint32_t HeldRequests::find_gaps(const QueuePair& qp, Psn expected, std::span<Gap> gaps) const {
  uint32_t found = 0;
  uint16_t slot = qp.responder.held.first;
  for (; slot != HeldLine::kNone && found < gaps.size(); slot = slots_[slot].next) {
    const int32_t missing = slots_[slot].headers.bth.psn.distance_from(expected);
    if (missing > 0) gaps[found++] = {expected, static_cast<uint32_t>(missing)};
    expected = end_of(qp, slot);
  }
  return found;
}

std::optional<PacketView> HeldRequests::first_at(QueuePair& qp, Psn psn) {
  const HeldLine& line = qp.responder.held;
  while (line.first != HeldLine::kNone && slots_[line.first].headers.bth.psn.is_before(psn)) {
    forget_first(qp);
  }
  if (line.first == HeldLine::kNone) return std::nullopt;
  const Slot& slot = slots_[line.first];
  if (slot.headers.bth.psn != psn) return std::nullopt;
  return PacketView{slot.headers, {payload(line.first), slot.bytes}, slot.identification};
}

void HeldRequests::forget_first(QueuePair& qp) {
  HeldLine& line = qp.responder.held;
  const uint16_t slot = line.first;
  line.first = slots_[slot].next;
  slots_[slot].next = free_;
  free_ = slot;
  --used_;
  if (--line.count != 0) return;
  line.last = HeldLine::kNone;
  holders_.remove(qp);
}

void HeldRequests::forget_all(QueuePair& qp) {
  while (qp.responder.held.count != 0) forget_first(qp);
}

}  // namespace urxe
