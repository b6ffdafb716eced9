// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tools/analyze/packet_rules.h"

namespace urxe::analyze {

Stream& Connections::create(const Gid& source, const Gid& destination, Qpn dest_qp,
                            Service service) {
  Stream& stream = streams_.emplace_back();
  stream.source = source;
  stream.destination = destination;
  stream.dest_qp = dest_qp;
  stream.service = service;
  current_[{source.bytes, destination.bytes, dest_qp.value()}] = &stream;
  alone_[{source.bytes, destination.bytes}].push_back(&stream);
  return stream;
}

Stream& Connections::find(const CapturedPacket& packet) {
  const Bth& bth = packet.view.headers.bth;
  const Flow& flow = packet.flow;
  const auto it = current_.find({flow.source.bytes, flow.destination.bytes, bth.dest_qp.value()});
  if (it != current_.end() && it->second->service == bth.opcode.service()) return *it->second;
  if (it != current_.end()) retire(*it->second);
  return create(flow.source, flow.destination, bth.dest_qp, bth.opcode.service());
}

/// The connection is over: neither end's packets belong to it any more.
void Connections::retire(Stream& stream) {
  for (Stream* const one : {&stream, stream.opposite}) {
    if (one == nullptr) continue;
    const auto it =
        current_.find({one->source.bytes, one->destination.bytes, one->dest_qp.value()});
    if (it != current_.end() && it->second == one) current_.erase(it);
    std::erase(alone_[{one->source.bytes, one->destination.bytes}], one);
    one->alone = false;
    release(*one);
  }
}

void Connections::check_pkey(Stream& stream, const CapturedPacket& packet, ViolationLog& log) {
  stream.pkey = packet.view.headers.bth.pkey;
  if (stream.opposite == nullptr || !stream.opposite->pkey || stream.pkey_reported) return;
  const PKey other = *stream.opposite->pkey;
  if (partition_of(*stream.pkey) == partition_of(other)) return;
  stream.pkey_reported = stream.opposite->pkey_reported = true;
  log.add(make_violation(packet, Rule::kPKeyMismatch,
                         fmt::format("{:#06x} and {:#06x}", stream.pkey->value(), other.value())));
}

void Connections::on_packet(const CapturedPacket& packet, ViolationLog& log) {
  Stream* stream = &find(packet);
  const Bth& bth = packet.view.headers.bth;
  if (opcode_info(bth.opcode).is_request) {
    if (!stream->requests.on_request(packet, log)) {
      retire(*stream);
      stream = &find(packet);
      stream->requests.on_request(packet, log);
    }
    hold(*stream, HeldPacket(packet));
  } else {
    if (stream->opposite == nullptr) pair(*stream, packet);
    if (stream->opposite != nullptr) {
      stream->opposite->requests.on_response(packet, log);
    } else {
      ++stream->unmatched_responses;
      hold(*stream, HeldPacket(packet));
    }
  }
  check_pkey(*stream, packet, log);
}

void Connections::on_gap_packet(const CapturedPacket& packet) {
  const Flow& flow = packet.flow;
  const Bth& bth = packet.view.headers.bth;
  const auto it = current_.find({flow.source.bytes, flow.destination.bytes, bth.dest_qp.value()});
  if (it == current_.end()) return;
  if (bth.opcode == kGapQueryOpcode) {
    it->second->requests.on_gap_query(packet);
    hold(*it->second, HeldPacket(packet));
  } else if (it->second->opposite != nullptr) {
    it->second->opposite->requests.on_gap_report(packet);
  }
}

/// The stream of a packet whose queue pair number may have bits that flipped: the one with the most
/// similar number. Null if there is none, or several.
Stream* Connections::find_similar(const CorruptedPacket& packet) {
  constexpr int kMostFlips = 3;
  constexpr int kMostTried = 256;
  const Key from = {packet.flow.source.bytes, packet.flow.destination.bytes, 0};
  Stream* found = nullptr;
  int least = kMostFlips + 1;
  int tried = 0;
  for (auto it = current_.lower_bound(from); it != current_.end() && tried < kMostTried;
       ++it, ++tried) {
    if (it->first.source != from.source || it->first.destination != from.destination) break;
    const int flips = std::popcount(it->first.dest_qp ^ packet.dest_qp.value());
    if (flips > least || flips > kMostFlips) continue;
    found = flips < least ? it->second : nullptr;
    least = flips;
  }
  return found;
}

void Connections::on_corrupted(const CorruptedPacket& packet) {
  Stream* const stream = find_similar(packet);
  if (stream == nullptr) return;
  take_corrupted(*stream, packet);
  hold(*stream, HeldPacket(packet));
}

void Connections::take_corrupted(Stream& stream, const CorruptedPacket& packet) {
  const OpcodeInfo& info = opcode_info(packet.opcode);
  RequestFlow* const responses = stream.opposite != nullptr ? &stream.opposite->requests : nullptr;
  if (packet.opcode == kGapQueryOpcode) return stream.requests.on_corrupted_query(packet);
  const bool is_response = packet.opcode.service() == stream.service && !info.name.empty()
                               ? !info.is_request
                               : responses != nullptr && responses->is_near(packet.psn) &&
                                     !stream.requests.is_near(packet.psn);
  if (!is_response) return stream.requests.on_corrupted_request(packet);
  if (responses != nullptr) responses->on_corrupted_response(packet);
}

void Connections::on_established(const CmExchange& exchange) {
  if (exchange.active_qpn.value() == 0 || exchange.passive_qpn.value() == 0) return;
  const auto begin = [&](const Gid& from, const Gid& to, Qpn qpn, Psn start) {
    const auto it = current_.find({from.bytes, to.bytes, qpn.value()});
    if (it != current_.end()) retire(*it->second);
    Stream& stream = create(from, to, qpn, exchange.transport);
    stream.requests = RequestFlow(start, exchange.path_mtu, exchange.ack_timeout);
    stream.from_cm = true;
    std::erase(alone_[{from.bytes, to.bytes}], &stream);
    stream.alone = false;
    return &stream;
  };
  // Each side says with which PSN the other one begins.
  Stream* const one =
      begin(exchange.active, exchange.passive, exchange.passive_qpn, exchange.passive_starting_psn);
  Stream* const other =
      begin(exchange.passive, exchange.active, exchange.active_qpn, exchange.active_starting_psn);
  join(*one, *other);
}

void Connections::finish() {
  while (pair_what_is_left(false) || pair_what_is_left(true)) {
  }
  for (Stream& stream : streams_) stream.requests.finish();
}

}  // namespace urxe::analyze
