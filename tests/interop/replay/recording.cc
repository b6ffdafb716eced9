// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/recording.h"

#include <algorithm>

#include "tests/packet/wire/rx_packet.h"
#include "tests/support/datagram.h"

namespace urxe::replay {

Recording::Recording(const std::string& path) : file_(test::read_capture(path)) {
  error_ = file_.error;
  frames_.reserve(file_.frames.size());
  for (const test::CapturedFrame& captured : file_.frames) {
    if (error_.empty()) add(captured);
  }
  if (error_.empty() && frames_.empty()) error_ = "has no frame";
}

void Recording::add(const test::CapturedFrame& captured) {
  Frame frame;
  frame.number = frames_.size() + 1;
  const auto since_first =
      static_cast<int64_t>(captured.time_ns) - static_cast<int64_t>(file_.frames[0].time_ns);
  frame.time = kStart + nanoseconds(since_first);
  if (!frames_.empty()) frame.time = std::max(frame.time, frames_.back().time);
  const auto datagram = test::find_datagram(captured);
  if (!datagram) {
    error_ = "frame " + std::to_string(frame.number) + " is no UDP datagram";
    return;
  }
  frame.packet = test::rx_packet(*datagram);
  const auto view = parse(frame.packet);
  if (!view) {
    error_ = "frame " + std::to_string(frame.number) + ": ";
    error_ += drop_reason_name(view.error());
    return;
  }
  frame.view = *view;
  frame.ip_header = datagram->ip.first(datagram->udp_offset);
  frames_.push_back(frame);
}

}  // namespace urxe::replay
