// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/frame.h"

#include <cstdio>

#include "packet/wire/aeth_syndrome.h"
#include "tests/interop/replay/recording.h"

namespace urxe::replay {

bool is_ack(const Frame& frame) {
  return frame.operation() == Operation::kAcknowledge &&
         ack_kind(frame.headers().aeth.syndrome) == AckKind::kAck;
}

bool is_positive(const Frame& frame) {
  return frame.operation() != Operation::kAcknowledge || is_ack(frame);
}

std::string describe(const Frame& frame) {
  char place[64];
  std::snprintf(place, sizeof place, "frame %zu at %.3f ms: ", frame.number,
                static_cast<double>((frame.time - kStart).ns) / 1e6);
  return place + format(frame.view);
}

}  // namespace urxe::replay
