// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/text/format.h"

namespace urxe::replay {

/// A packet that was recorded, or that the device under test has sent.
struct Frame {
  size_t number = 0;  ///< in the file or in the order of sending, from 1
  Instant time;       ///< virtual
  RxPacket packet;
  PacketView view;
  std::span<const uint8_t> ip_header;  ///< of a recorded one, without options

  [[nodiscard]] const Headers& headers() const { return view.headers; }
  [[nodiscard]] Psn psn() const { return view.headers.bth.psn; }
  [[nodiscard]] Operation operation() const { return view.headers.bth.opcode.operation(); }
  [[nodiscard]] Service service() const { return view.headers.bth.opcode.service(); }
  [[nodiscard]] const OpcodeInfo& info() const { return opcode_info(view.headers.bth.opcode); }
};

bool is_ack(const Frame& frame);
/// Of an answer: whether it acknowledges, or carries out, a request: it is no NAK.
bool is_positive(const Frame& frame);

using Frames = std::vector<const Frame*>;

/// "frame 12 at 3.456 ms: RC SEND Only qp 0x11 psn 5 ack len 64".
std::string describe(const Frame& frame);

}  // namespace urxe::replay
