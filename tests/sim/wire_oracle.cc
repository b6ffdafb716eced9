// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/wire_oracle.h"

#include <algorithm>

#include "packet/base/bytes.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/text/format.h"
#include "tests/sim/failure.h"
#include "tests/support/random.h"

namespace urxe::sim {
namespace {

/// Between processes of one host: no business of a connection's.
bool is_drain(const PacketView& packet) {
  return packet.headers.bth.opcode == kDrainQueryOpcode ||
         packet.headers.bth.opcode == kDrainAnswerOpcode;
}

bool is_about_gaps(const PacketView& packet) {
  return packet.headers.bth.opcode == kGapQueryOpcode ||
         packet.headers.bth.opcode == kGapReportOpcode;
}

void demand(bool condition, const char* rule, const PacketView& packet) {
  require(condition, [&] { return text("wire: %s: %s", rule, format(packet).c_str()); });
}

uint64_t digest(const PacketView& packet) {
  uint64_t sum = packet.payload.size();
  for (const uint8_t byte : packet.payload) sum = (sum ^ byte) * 0x100000001b3ULL;
  const Headers& h = packet.headers;
  const Ext extensions = opcode_info(h.bth.opcode).extensions;
  sum = Random::mix(sum + (h.bth.solicited ? 1 : 0));
  if (has(extensions, Ext::kFeth)) {
    sum = Random::mix(sum + h.feth.placement + h.feth.selectivity * 16U);
  }
  if (has(extensions, Ext::kReth)) {
    sum = Random::mix(sum + h.reth.va);
    sum = Random::mix(sum + h.reth.rkey.value());
    sum = Random::mix(sum + h.reth.dma_length);
  }
  if (has(extensions, Ext::kAtomicEth)) {
    sum = Random::mix(sum + h.atomic.va);
    sum = Random::mix(sum + h.atomic.swap_or_add);
    sum = Random::mix(sum + h.atomic.compare);
  }
  if (has(extensions, Ext::kXrceth)) sum = Random::mix(sum + h.xrc_srq.value());
  if (has(extensions, Ext::kImmDt)) sum = Random::mix(sum + h.immediate_be);
  return sum;
}

bool is_read(Opcode opcode) {
  return opcode.operation() == Operation::kReadRequest;
}
bool is_atomic(Opcode opcode) {
  return opcode.operation() == Operation::kCompareSwap ||
         opcode.operation() == Operation::kFetchAdd;
}
bool is_flush(Opcode opcode) {
  return opcode.operation() == Operation::kFlush;
}
bool has_own_response(Opcode opcode) {
  return is_read(opcode) || is_atomic(opcode) || is_flush(opcode);
}

}  // namespace

void WireOracle::add(size_t host, uint32_t qpn, size_t peer_host, uint32_t peer_qpn,
                     const Limits& limits) {
  Side side;
  side.peer = {peer_host, peer_qpn};
  side.direction.limits = limits;
  sides_.emplace(Key{host, qpn}, std::move(side));
}

WireOracle::Side& WireOracle::side_of(Key key) {
  const auto it = sides_.find(key);
  require(it != sides_.end(), [&] { return text("wire: no queue pair 0x%x there", key.second); });
  return it->second;
}

void WireOracle::add_datagrams(size_t host, uint32_t qpn, Psn start) {
  next_datagram_.emplace(Key{host, qpn}, start);
}

void WireOracle::on_sent(size_t host, size_t destination_host, const PacketView& packet,
                         size_t bytes, Instant now) {
  if (is_drain(packet)) {
    return demand(host == destination_host, "a drain packet to another host", packet);
  }
  if (packet.headers.bth.opcode.service() == Service::kUd) {
    pacing_.on_sent({host, packet.headers.deth.source_qp.value()}, bytes, now);
    return datagram_sent(host, packet);
  }
  Side& destination = side_of({destination_host, packet.headers.bth.dest_qp.value()});
  Side& sender = side_of(destination.peer);
  demand(destination.peer.first == host, "sent by another host than the peer's", packet);
  if (opcode_info(packet.headers.bth.opcode).is_request) {
    pacing_.on_sent(destination.peer, bytes, now);
    request_sent(sender.direction, packet);
  } else if (packet.headers.bth.opcode == kGapReportOpcode) {
    gap_reported(destination.direction, packet);
  } else if (packet.headers.bth.opcode != kGapQueryOpcode) {
    demand(packet.headers.bth.opcode.service() != Service::kUc, "an answer on UC", packet);
    response_sent(destination.direction, packet);
  }
}

void WireOracle::datagram_sent(size_t host, const PacketView& packet) {
  const auto it = next_datagram_.find({host, packet.headers.deth.source_qp.value()});
  require(it != next_datagram_.end(), [] { return std::string("wire: a source QP nobody has"); });
  demand(packet.headers.bth.psn == it->second, "a datagram's PSN is not the next", packet);
  it->second = it->second + 1;
}

void WireOracle::request_sent(Direction& direction, const PacketView& packet) {
  const auto next = static_cast<uint32_t>(direction.request_of.size());
  const uint32_t distance =
      (packet.headers.bth.psn.value() - direction.limits.start.value()) & Psn::kMask;
  demand(packet.payload.size() <= direction.limits.mtu, "payload beyond the path MTU", packet);
  demand(distance <= next, "a PSN was left out", packet);
  demand(distance == next || packet.headers.bth.opcode.service() != Service::kUc,
         "a packet of UC was repeated", packet);
  if (distance == next) {
    new_request(direction, packet);
  } else {
    ++retransmissions_;
    repeated_request(direction, packet, distance);
  }
}

/// First, Middle and Last are in order; only on UC may a message break off, at the sender's error.
void WireOracle::check_message(Direction& direction, const PacketView& packet) {
  const OpcodeInfo& info = opcode_info(packet.headers.bth.opcode);
  if (info.starts_message) {
    const bool may_break_off = packet.headers.bth.opcode.service() == Service::kUc;
    demand(!direction.in_message || may_break_off, "a message within a message", packet);
  } else {
    demand(direction.in_message, "MIDDLE or LAST without a FIRST", packet);
  }
  direction.in_message = !info.ends_message;
}

void WireOracle::new_request(Direction& direction, const PacketView& packet) {
  const OpcodeInfo& info = opcode_info(packet.headers.bth.opcode);
  Request request;
  request.opcode = packet.headers.bth.opcode;
  request.first = static_cast<uint32_t>(direction.request_of.size());
  request.digest = digest(packet);
  request.length = static_cast<uint32_t>(packet.payload.size());
  check_message(direction, packet);
  if (info.ends_message) direction.messages = direction.messages + 1;
  request.messages = direction.messages;
  if (!info.ends_message) {
    demand(request.length == direction.limits.mtu, "FIRST or MIDDLE is not full", packet);
  } else if (!info.starts_message) {
    demand(request.length > 0, "LAST is empty", packet);
  }
  if (is_read(request.opcode)) {
    request.length = packet.headers.reth.dma_length;
    request.va = packet.headers.reth.va;
    request.packets =
        std::max(1U, (request.length + direction.limits.mtu - 1) / direction.limits.mtu);
  }
  if (has_own_response(request.opcode)) {
    ++direction.unanswered;
    demand(direction.unanswered <= direction.limits.max_rd_atomic,
           "more READs and atomics than max_rd_atomic", packet);
  }
  direction.request_of.insert(direction.request_of.end(), request.packets,
                              static_cast<uint32_t>(direction.requests.size()));
  direction.requests.push_back(request);
}

void WireOracle::repeated_request(Direction& direction, const PacketView& packet,
                                  uint32_t distance) {
  Request& request = direction.requests[direction.request_of[distance]];
  demand(request.opcode == packet.headers.bth.opcode, "repeated with another opcode", packet);
  if (!is_read(request.opcode)) {
    demand(request.digest == digest(packet), "repeated with other contents", packet);
    return;
  }
  const uint32_t done = (distance - request.first) * direction.limits.mtu;
  demand(packet.headers.reth.va == request.va + done, "resumed READ: wrong address", packet);
  const uint32_t length = packet.headers.reth.dma_length;
  const uint32_t rest = request.length - done;
  if (length == rest) return;
  // A probe asks for one response of a READ that has begun to be answered; a repair for those in
  // front of others that have come, or up to one that has come and was dropped, because data of a
  // READ before it was missing.
  const uint32_t packets = length / direction.limits.mtu;
  const bool is_probe = done > 0 && packets == 1;
  const bool is_repair = distance + packets <= direction.answered;
  demand(length % direction.limits.mtu == 0 && length != 0 && length < rest,
         "resumed READ: wrong length", packet);
  demand(is_probe || is_repair, "part of a READ, and nothing has come so far", packet);
  request.part_ends.insert(distance - request.first + packets - 1);
}

void WireOracle::gap_reported(const Direction& direction, const PacketView& packet) {
  demand(packet.payload.size() == kGapReportBytes, "a report of another length", packet);
  const uint32_t packets = load_be32(packet.payload.data());
  const uint32_t distance =
      (packet.headers.bth.psn.value() - direction.limits.start.value()) & Psn::kMask;
  // What comes behind the gap was taken. 0 packets: nothing is missing before the PSN.
  demand(packets == 0 ? distance <= direction.taken : distance + packets < direction.taken,
         "a gap in what never came", packet);
}

void WireOracle::response_sent(const Direction& direction, const PacketView& packet) {
  const uint32_t distance =
      (packet.headers.bth.psn.value() - direction.limits.start.value()) & Psn::kMask;
  const auto sent = static_cast<uint32_t>(direction.request_of.size());
  const Operation operation = packet.headers.bth.opcode.operation();
  // One beyond what was taken: the NAK of a gap names the PSN that is expected.
  demand(distance < sent && distance < direction.taken, "an answer to what never came", packet);
  const Request& request = direction.requests[direction.request_of[distance]];
  if (operation == Operation::kAtomicAcknowledge) {
    demand(is_atomic(request.opcode), "atomic acknowledge to another request", packet);
  } else if (operation == Operation::kAcknowledge) {
    acknowledge_sent(direction, packet, request);
  } else {
    read_response_sent(direction, packet, request, distance);
  }
}

void WireOracle::acknowledge_sent(const Direction& direction, const PacketView& packet,
                                  const Request& request) {
  const Aeth& aeth = packet.headers.aeth;
  demand(ack_kind(aeth.syndrome) != AckKind::kReserved, "reserved syndrome", packet);
  demand(!aeth.msn.is_after(direction.messages), "MSN beyond the messages sent", packet);
  if (ack_kind(aeth.syndrome) != AckKind::kAck) return;
  demand(!aeth.msn.is_before(request.messages), "MSN behind the messages acknowledged", packet);
  // Even where it was answered before: the requester may not have the answer, and take this for it.
  demand(!has_own_response(request.opcode), "ACK instead of a response", packet);
}

void WireOracle::read_response_sent(const Direction& direction, const PacketView& packet,
                                    const Request& request, uint32_t distance) {
  demand(is_read(request.opcode) || is_flush(request.opcode), "READ response to another request",
         packet);
  const uint32_t index = distance - request.first;
  const bool is_last = index + 1 == request.packets;
  const uint32_t mtu = direction.limits.mtu;
  const Operation operation = packet.headers.bth.opcode.operation();
  const bool says_last =
      operation == Operation::kReadResponseLast || operation == Operation::kReadResponseOnly;
  demand(is_last == says_last || request.part_ends.contains(index),
         "READ response: LAST in the wrong place", packet);
  demand(packet.payload.size() == (is_last ? request.length - index * mtu : mtu),
         "READ response: wrong length", packet);
}

void WireOracle::on_received(size_t host, const PacketView& packet) {
  if (is_drain(packet) || is_about_gaps(packet)) return;
  if (packet.headers.bth.opcode.service() == Service::kUd) return;
  Side& receiver = side_of({host, packet.headers.bth.dest_qp.value()});
  const Psn psn = packet.headers.bth.psn;
  if (opcode_info(packet.headers.bth.opcode).is_request) {
    Direction& direction = side_of(receiver.peer).direction;
    const uint32_t distance = (psn.value() - direction.limits.start.value()) & Psn::kMask;
    const Request& request = direction.requests[direction.request_of[distance]];
    direction.taken = std::max(direction.taken, request.first + request.packets);
    return;
  }
  const Operation operation = packet.headers.bth.opcode.operation();
  Direction& direction = receiver.direction;
  const uint32_t distance = (psn.value() - direction.limits.start.value()) & Psn::kMask;
  const bool is_nak = operation == Operation::kAcknowledge &&
                      ack_kind(packet.headers.aeth.syndrome) != AckKind::kAck;
  direction.answered = std::max(direction.answered, is_nak ? distance : distance + 1);
  if (operation != Operation::kAtomicAcknowledge && operation != Operation::kReadResponseLast &&
      operation != Operation::kReadResponseOnly) {
    return;
  }
  Request& request = direction.requests[direction.request_of[distance]];
  if (distance + 1 != request.first + request.packets) return;  // the end of a part
  if (!request.answered) --direction.unanswered;
  request.answered = true;
}

}  // namespace urxe::sim
