// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/analysis.h"

#include <algorithm>

#include "packet/base/bytes.h"
#include "packet/wire/port_probe.h"
#include "tools/analyze/packet_rules.h"
#include "tools/analyze/segments.h"

namespace urxe::analyze {

void Analysis::on_frame(const CapturedFrame& frame) {
  CapturedFrame steady = frame;
  steady.time_ns = clock_.steady(frame.time_ns);
  counts_.clock_steps = clock_.steps();
  counts_.stepped_ns = clock_.stepped_ns();
  on_steady_frame(steady);
}

void Analysis::on_steady_frame(const CapturedFrame& frame) {
  if (counts_.frames++ == 0) counts_.first_ns = frame.time_ns;
  counts_.last_ns = std::max(counts_.last_ns, frame.time_ns);
  const Datagram datagram = find_datagram(frame.link_type, frame.bytes);
  switch (datagram.kind) {
    case FrameKind::kOther:
      break;
    case FrameKind::kFragment:
      ++counts_.fragments;
      break;
    case FrameKind::kCut:
      ++counts_.cut;
      break;
    case FrameKind::kRoce:
      ++counts_.roce;
      on_datagram(frame, datagram);
      break;
  }
}

/// A datagram is one packet, unless the capture was made above an offload.
void Analysis::on_datagram(const CapturedFrame& frame, const Datagram& datagram) {
  Probe probe;
  if (decode_probe(datagram.bytes, probe)) {
    ++counts_.about_ports;
    return;
  }
  const bool too_long = datagram.wire_size > kLargestPacket;
  const IcrcVerdict verdict = too_long ? IcrcVerdict::kBad : check_icrc(datagram);
  if (verdict != IcrcVerdict::kBad) return on_single(frame, datagram, verdict);
  const std::optional<size_t> size = find_segment_size(datagram);
  if (size) {
    ++counts_.split;
    for (size_t at = 0; at < datagram.bytes.size(); at += *size) {
      Datagram segment = segment_at(datagram, *size, at);
      IcrcVerdict of_segment = check_icrc(segment);
      if (of_segment == IcrcVerdict::kBad) {
        // A receiver may have put together packets with one identification.
        segment.identification = datagram.identification;
        of_segment = check_icrc(segment);
      }
      on_single(frame, segment, of_segment);
    }
  } else if (too_long) {
    ++counts_.merged;
  } else {
    on_single(frame, datagram, verdict);
  }
}

void Analysis::on_single(const CapturedFrame& frame, const Datagram& datagram,
                         IcrcVerdict verdict) {
  if (verdict == IcrcVerdict::kBad) return on_bad_icrc(frame, datagram);
  if (verdict == IcrcVerdict::kUnchecked) ++counts_.unchecked_icrc;
  const auto packet = decoder_.decode(frame, datagram);
  if (packet) {
    on_packet(*packet);
  } else {
    on_dropped(frame, datagram, packet.error());
  }
}

/// Nothing else in it can be trusted.
void Analysis::on_bad_icrc(const CapturedFrame& frame, const Datagram& datagram) {
  ++counts_.bad_icrc;
  if (counts_.bad_icrc_frames.size() < CaptureCounts::kKeptFrames) {
    counts_.bad_icrc_frames.push_back(frame.number);
  }
  if (const auto packet = read_corrupted(frame, datagram)) connections_.on_corrupted(*packet);
}

void Analysis::on_dropped(const CapturedFrame& frame, const Datagram& datagram, DropReason reason) {
  constexpr size_t kQpnAt = 5;
  if (reason == DropReason::kTruncated || datagram.bytes.size() < kQpnAt + 3) {
    ++counts_.cut;
    return;
  }
  const Opcode opcode(datagram.bytes[0]);
  if (reason == DropReason::kUnknownOpcode) ++counts_.unknown_opcodes;
  const auto rule = rule_of_drop(reason, opcode);
  // Without an ICRC that holds, it may be a broken packet.
  if (!rule || check_icrc(datagram) != IcrcVerdict::kGood) return;
  const Qpn dest_qp(load_be24(datagram.bytes.data() + kQpnAt));
  violations_.add({frame.number, *rule, datagram.flow.source, datagram.flow.destination, dest_qp,
                   std::string(drop_reason_name(reason))});
}

void Analysis::on_packet(const CapturedPacket& packet) {
  check_packet(packet, violations_);
  switch (packet.view.headers.bth.opcode.service()) {
    case Service::kRc:
    case Service::kUc:
    case Service::kXrc:
      connections_.on_packet(packet, violations_);
      break;
    default:
      on_unconnected(packet);
  }
}

void Analysis::on_unconnected(const CapturedPacket& packet) {
  const Bth& bth = packet.view.headers.bth;
  if (bth.opcode == kCnpOpcode) {
    ++counts_.cnps;
  } else if (bth.opcode == kGapQueryOpcode || bth.opcode == kGapReportOpcode) {
    ++counts_.about_gaps;
    connections_.on_gap_packet(packet);
  } else if (bth.opcode == kDrainQueryOpcode || bth.opcode == kDrainAnswerOpcode) {
    ++counts_.about_buffers;
  } else if (bth.opcode.service() != Service::kUd) {
    ++counts_.unknown_opcodes;
  } else if (bth.dest_qp == kGsiQpn) {
    ++counts_.gsi;
    if (const CmExchange* const established = cm_.on_packet(packet)) {
      connections_.on_established(*established);
    }
  } else {
    ++counts_.datagrams;
    counts_.datagram_bytes += packet.view.payload.size();
    if (bth.dest_qp == Qpn(kMulticastQpn)) ++counts_.multicast;
  }
}

bool Analysis::found_something() const {
  if (violations_.total() != 0 || counts_.bad_icrc != 0) return true;
  const auto& streams = connections_.streams();
  return std::any_of(streams.begin(), streams.end(), [](const Stream& stream) {
    return stream.requests.counts().errors() != 0 || stream.requests.lost_messages() != 0;
  });
}

}  // namespace urxe::analyze
