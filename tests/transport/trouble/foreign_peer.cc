// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/trouble/foreign_peer.h"

#include <algorithm>
#include <utility>

#include "packet/wire/aeth_syndrome.h"

namespace urxe::test {
namespace {

constexpr Duration kAckDelay = microseconds(300);
constexpr Duration kRetry = milliseconds(2);
constexpr uint32_t kFew = 40;             ///< packets that one late ACK stands for, at most
constexpr uint32_t kWindow = 64;          ///< packets in flight
constexpr size_t kMemoryBytes = 1 << 17;  ///< behind kVa

constexpr Opcode rc(Operation operation) {
  return {Service::kRc, operation};
}

uint32_t packets_of(uint32_t length, uint32_t mtu) {
  return length == 0 ? 1 : (length + mtu - 1) / mtu;
}

bool is_read_response(Opcode opcode) {
  return opcode.operation() >= Operation::kReadResponseFirst &&
         opcode.operation() <= Operation::kReadResponseOnly;
}

}  // namespace

ForeignPeer::ForeignPeer(const Setup& setup, Random random)
    : memory(kMemoryBytes),
      setup_(setup),
      random_(random),
      acks_(static_cast<Acks>(random_.below(3))),
      gaps_(static_cast<Gaps>(random_.below(2))),
      expected_(setup.rq_psn),
      next_psn_(setup.sq_psn),
      sent_to_(setup.sq_psn),
      oldest_(setup.sq_psn) {}

void ForeignPeer::emit(const Headers& headers, std::span<const uint8_t> payload) {
  Headers all = headers;
  all.bth.dest_qp = setup_.device_qpn;
  std::ranges::copy(payload, batch_.append(setup_.flow, all, payload.size()));
  batch_.commit();
  const auto bytes = batch_.bytes(batch_.messages()[0]);
  outgoing.push_back({{bytes.begin(), bytes.end()}, setup_.flow, 0, false});
  batch_.clear();
}

void ForeignPeer::receive(const PacketView& packet, Instant now) {
  if (opcode_info(packet.headers.bth.opcode).is_request) {
    receive_request(packet, now);
  } else {
    receive_answer(packet, now);
  }
}

// --- Responder.

void ForeignPeer::acknowledge(uint8_t syndrome, Psn psn) {
  Headers headers;
  headers.bth.opcode = rc(Operation::kAcknowledge);
  headers.bth.psn = psn;
  headers.aeth = {syndrome, Msn(completed_)};
  emit(headers, {});
  ack_due_.reset();
  unacknowledged_ = 0;
}

void ForeignPeer::receive_request(const PacketView& packet, Instant now) {
  const Headers& headers = packet.headers;
  const int32_t ahead = headers.bth.psn.distance_from(expected_);
  if (ahead > 0) {
    if (gaps_ == Gaps::kEach || !gap_named_) {
      acknowledge(nak_syndrome(NakCode::kPsnSequenceError), expected_);
    }
    gap_named_ = true;
    return;
  }
  if (ahead < 0) {
    if (headers.bth.opcode == rc(Operation::kReadRequest)) return answer_read(headers);
    return acknowledge(kAckNoCredits, expected_ - 1);
  }
  gap_named_ = false;
  execute(packet, now);
}

void ForeignPeer::execute(const PacketView& packet, Instant now) {
  const Headers& headers = packet.headers;
  const OpcodeInfo& info = opcode_info(headers.bth.opcode);
  if (headers.bth.opcode == rc(Operation::kReadRequest)) {
    expected_ = expected_ + packets_of(headers.reth.dma_length, setup_.mtu);
    ++completed_;
    return answer_read(headers);
  }
  expected_ = expected_ + 1;
  if (has(info.extensions, Ext::kReth)) {
    write_at_ = headers.reth.va;
    message_.clear();
  }
  const bool writes = write_at_ != 0;
  if (writes) {
    std::ranges::copy(packet.payload, memory.begin() + static_cast<ptrdiff_t>(write_at_ - kVa));
    write_at_ += packet.payload.size();
  } else {
    message_.insert(message_.end(), packet.payload.begin(), packet.payload.end());
  }
  const Opcode opcode = headers.bth.opcode;
  const bool ends = opcode == rc(Operation::kSendLast) || opcode == rc(Operation::kSendOnly) ||
                    opcode == rc(Operation::kWriteLast) || opcode == rc(Operation::kWriteOnly);
  if (ends) {
    ++completed_;
    if (!writes) messages.push_back(std::exchange(message_, {}));
    write_at_ = 0;
  }
  ++unacknowledged_;
  const bool now_due = acks_ == Acks::kEach || (acks_ == Acks::kAsked && headers.bth.ack_req) ||
                       unacknowledged_ >= kFew;
  if (now_due) return acknowledge(kAckNoCredits, expected_ - 1);
  if (headers.bth.ack_req && !ack_due_) ack_due_ = now + kAckDelay;
}

void ForeignPeer::answer_read(const Headers& headers) {
  const uint32_t length = headers.reth.dma_length;
  const uint32_t packets = packets_of(length, setup_.mtu);
  for (uint32_t i = 0; i < packets; ++i) {
    Headers answer;
    const bool first = i == 0;
    const bool last = i + 1 == packets;
    answer.bth.opcode = rc(first && last ? Operation::kReadResponseOnly
                           : first       ? Operation::kReadResponseFirst
                           : last        ? Operation::kReadResponseLast
                                         : Operation::kReadResponseMiddle);
    answer.bth.psn = headers.bth.psn + i;
    answer.aeth = {kAckNoCredits, Msn(completed_)};
    const uint32_t at = i * setup_.mtu;
    emit(answer,
         std::span(memory).subspan(headers.reth.va - kVa + at, std::min(setup_.mtu, length - at)));
  }
  // It stands for all before it.
  if (random_.percent(50)) ack_due_.reset();
}

// --- Requester.

void ForeignPeer::add(Request request) {
  request.psn = next_psn_;
  request.packets = packets_of(
      request.is_read ? request.length : static_cast<uint32_t>(request.data.size()), setup_.mtu);
  next_psn_ = next_psn_ + request.packets;
  requests_.push_back(std::move(request));
}

void ForeignPeer::write(uint64_t va, RKey rkey, std::vector<uint8_t> data) {
  Request request;
  request.operations = {Operation::kWriteFirst, Operation::kWriteMiddle, Operation::kWriteLast,
                        Operation::kWriteOnly};
  request.va = va;
  request.rkey = rkey;
  request.data = std::move(data);
  add(std::move(request));
}

void ForeignPeer::send(std::vector<uint8_t> data) {
  Request request;
  request.operations = {Operation::kSendFirst, Operation::kSendMiddle, Operation::kSendLast,
                        Operation::kSendOnly};
  request.data = std::move(data);
  add(std::move(request));
}

void ForeignPeer::read(uint64_t va, RKey rkey, uint32_t length) {
  Request request;
  request.va = va;
  request.rkey = rkey;
  request.length = length;
  request.is_read = true;
  add(std::move(request));
}

void ForeignPeer::transmit_packet(const Request& request, uint32_t index) {
  Headers headers;
  const bool first = index == 0;
  const bool last = index + 1 == request.packets;
  const auto& [begin, middle, end, only] = request.operations;
  headers.bth.opcode = rc(first && last ? only : first ? begin : last ? end : middle);
  headers.bth.psn = request.psn + index;
  // It must ask before it has to wait.
  const bool waits = headers.bth.psn.distance_from(oldest_) + 1 == static_cast<int32_t>(kWindow);
  headers.bth.ack_req = waits || (last && (&request == &requests_.back() || random_.percent(20)));
  headers.reth = {request.va, request.rkey, static_cast<uint32_t>(request.data.size())};
  const size_t at = size_t{index} * setup_.mtu;
  emit(headers,
       std::span(request.data).subspan(at, std::min<size_t>(setup_.mtu, request.data.size() - at)));
}

/// Asks for the rest, or for a piece of it if some of it has been asked for before.
void ForeignPeer::transmit_read(Request& request) {
  const uint32_t left = request.length - read_;
  const uint32_t left_packets = packets_of(left, setup_.mtu);
  uint32_t length = left;
  if (read_asked_ > 0 && left_packets > 1 && random_.percent(60)) {
    length = random_.range32(1, left_packets - 1) * setup_.mtu;
  }
  Headers headers;
  headers.bth.opcode = rc(Operation::kReadRequest);
  headers.bth.psn = request.psn + read_ / setup_.mtu;
  headers.bth.ack_req = true;
  headers.reth = {request.va + read_, request.rkey, length};
  // All has to be asked for once, or the device would see a gap behind the READ.
  read_asked_ = std::max(read_asked_, read_ + length);
  emit(headers, {});
}

/// A READ is answered before anything behind it is sent.
void ForeignPeer::transmit(Instant now) {
  if (!requests_.empty() && !retry_at_) retry_at_ = now + kRetry;
  for (Request& request : requests_) {
    if (request.is_read) {
      const bool is_first = &request == &requests_.front();
      if (is_first && sent_to_ == request.psn) {
        transmit_read(request);
        sent_to_ = request.psn + request.packets;
      }
      break;
    }
    for (uint32_t i = 0; i < request.packets; ++i) {
      if ((request.psn + i).distance_from(oldest_) >= static_cast<int32_t>(kWindow)) return;
      if (request.psn + i != sent_to_) continue;
      transmit_packet(request, i);
      sent_to_ = sent_to_ + 1;
    }
  }
}

void ForeignPeer::go_back(Instant now) {
  if (requests_.empty()) return;
  retry_at_ = now + kRetry;
  Request& first = requests_.front();
  if (first.is_read) {
    transmit_read(first);
    sent_to_ = first.psn + first.packets;
    return;
  }
  // As far back as the beginning of the message, whatever of it was acknowledged.
  sent_to_ = random_.percent(50) ? first.psn : oldest_;
}

void ForeignPeer::receive_answer(const PacketView& packet, Instant now) {
  const Headers& headers = packet.headers;
  if (is_read_response(headers.bth.opcode)) return take_read_response(packet, now);
  switch (ack_kind(headers.aeth.syndrome)) {
    case AckKind::kAck:
      return complete_up_to(headers.bth.psn, now);
    case AckKind::kRnrNak:
      complete_up_to(headers.bth.psn - 1, now);
      return go_back(now);
    case AckKind::kNak:
      if (headers.aeth.syndrome != nak_syndrome(NakCode::kPsnSequenceError)) {
        failed_ = failed_ || headers.bth.psn.distance_from(oldest_) >= 0;
        return;
      }
      complete_up_to(headers.bth.psn - 1, now);
      if (!requests_.empty() && !requests_.front().is_read) sent_to_ = oldest_;
      return;
    case AckKind::kReserved:
      failed_ = true;
  }
}

void ForeignPeer::complete_up_to(Psn psn, Instant now) {
  if (psn.distance_from(oldest_) < 0 || psn.distance_from(sent_to_) >= 0) return;
  while (!requests_.empty() && !requests_.front().is_read) {
    const Request& first = requests_.front();
    const Psn last = first.psn + (first.packets - 1);
    if (psn.distance_from(last) < 0) {
      if (psn.distance_from(first.psn) >= 0) oldest_ = psn + 1;
      break;
    }
    oldest_ = last + 1;
    requests_.pop_front();
  }
  if (sent_to_.distance_from(oldest_) < 0) sent_to_ = oldest_;
  retry_at_ = now + kRetry;
}

void ForeignPeer::take_read_response(const PacketView& packet, Instant now) {
  if (requests_.empty()) return;
  complete_up_to(packet.headers.bth.psn - 1, now);
  if (requests_.empty() || !requests_.front().is_read) return;
  const Request& first = requests_.front();
  if (packet.headers.bth.psn != first.psn + read_ / setup_.mtu) return;
  result_.insert(result_.end(), packet.payload.begin(), packet.payload.end());
  read_ += static_cast<uint32_t>(packet.payload.size());
  retry_at_ = now + kRetry;
  if (read_ < first.length) return;
  oldest_ = first.psn + first.packets;
  sent_to_ = oldest_;
  results.push_back(std::exchange(result_, {}));
  read_ = read_asked_ = 0;
  requests_.pop_front();
}

void ForeignPeer::drive(Instant now) {
  if (ack_due_ && *ack_due_ <= now) acknowledge(kAckNoCredits, expected_ - 1);
  if (requests_.empty()) retry_at_.reset();
  if (retry_at_ && *retry_at_ <= now) go_back(now);
  transmit(now);
}

std::optional<Instant> ForeignPeer::next_deadline() const {
  if (!ack_due_ || !retry_at_) return ack_due_ ? ack_due_ : retry_at_;
  return std::min(*ack_due_, *retry_at_);
}

}  // namespace urxe::test
