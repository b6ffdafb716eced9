// SPDX-License-Identifier: BSD-2-Clause
#include "tests/tools/analyze/truth/witness.h"

#include <algorithm>
#include <cstdio>

#include "packet/wire/ip/ip_header.h"

namespace urxe::truth {

void Witness::on_sent(size_t host, const sim::Packet& packet, Instant now) {
  if (packet.flow.source == packet.flow.destination) return;  // each would be in the capture twice
  const auto view = parse(packet.view());
  const Bth& bth = view->headers.bth;
  const bool report = bth.opcode == kGapReportOpcode;
  const bool request =
      !report && (bth.opcode == kGapQueryOpcode || opcode_info(bth.opcode).is_request);
  sendings_[packet.sending] = {request, bth.dest_qp};
  ++captures_.at(1 - host).fates.at(request ? 1 : 0).sent;
  record(host, packet, now);
}

void Witness::on_arrival(size_t host, const sim::Packet& packet, Instant now) {
  if (packet.flow.source == packet.flow.destination) return;
  const Sending& sending = sendings_.at(packet.sending);
  Fates& fates = captures_.at(host).fates.at(sending.request ? 1 : 0);
  if (packet.corrupted) ++fates.corrupted;
  if (arrived_.insert(packet.sending).second) {
    ++fates.arrived;
    uint64_t& newest = newest_[{host, sending.dest_qp.value()}];
    if (packet.sending < newest) ++fates.late;
    newest = std::max(newest, packet.sending);
  } else {
    ++fates.duplicated;
  }
  record(host, packet, now);
}

/// The packet as IPv4, without a link header.
void Witness::record(size_t host, const sim::Packet& packet, Instant now) {
  std::vector<uint8_t> frame(kIpv4HeaderBytes + kUdpHeaderBytes);
  const size_t udp_bytes = kUdpHeaderBytes + packet.bytes.size();
  write_ipv4_header(frame.data(), packet.flow, {0, 64, 0}, packet.identification, udp_bytes, 0);
  write_udp_header(frame.data() + kIpv4HeaderBytes, packet.flow, udp_bytes, 0);
  frame.insert(frame.end(), packet.bytes.begin(), packet.bytes.end());
  Capture& capture = captures_.at(host);
  capture.analysis.on_frame(
      {++capture.frames, now.ns, analyze::LinkType::kRaw, frame, frame.size()});
  capture.kept.emplace_back(now.ns, std::move(frame));
}

void Witness::finish() {
  for (Capture& capture : captures_) capture.analysis.finish();
}

void Witness::save(size_t host, const std::string& path) const {
  constexpr int64_t kSecond = 1'000'000'000;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return;
  const uint32_t head[] = {0xa1b23c4d, 0x00040002, 0, 0, 65535, 101};
  std::fwrite(head, sizeof head, 1, file);
  for (const auto& [time_ns, frame] : at(host).kept) {
    const auto size = static_cast<uint32_t>(frame.size());
    const uint32_t record[] = {static_cast<uint32_t>(time_ns / kSecond),
                               static_cast<uint32_t>(time_ns % kSecond), size, size};
    std::fwrite(record, sizeof record, 1, file);
    std::fwrite(frame.data(), frame.size(), 1, file);
  }
  std::fclose(file);
}

}  // namespace urxe::truth
