// SPDX-License-Identifier: BSD-2-Clause
// Packets with a wrong ICRC: what is missing because of them was not lost.
#include <cstdlib>

#include "tools/analyze/request_flow.h"

namespace urxe::analyze {

bool RequestFlow::is_near(Psn psn) const {
  constexpr int64_t kNear = 256;
  return begun_ && std::abs(lengthen(psn) - expected_) <= kNear;
}

void RequestFlow::on_corrupted_request(const CorruptedPacket& packet) {
  if (!begun_) return;
  now_frame_ = packet.frame;
  now_ns_ = packet.time_ns;
  ++counts_.corrupted;
  mark(FlowEvent::kCorrupted, is_near(packet.psn) ? lengthen(packet.psn) : expected_);
  corrupted_.add(packet.psn, packet.time_ns);
}

void RequestFlow::on_corrupted_response(const CorruptedPacket& packet) {
  if (!begun_) return;
  ++counts_.corrupted_responses;
  corrupted_responses_.add(packet.psn, packet.time_ns);
}

void RequestFlow::on_corrupted_query(const CorruptedPacket& packet) {
  ++counts_.corrupted;
  corrupted_queries_.add(packet.psn, packet.time_ns);
}

}  // namespace urxe::analyze
