// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/link_duplicates.h"

#include <algorithm>

namespace urxe::replay {
namespace {

bool is_double(const Frame& a, const Frame& b) {
  const uint16_t identification = a.packet.ipv4_identification.value_or(0);
  return identification != 0 && a.packet.ipv4_identification == b.packet.ipv4_identification &&
         std::ranges::equal(a.packet.bytes, b.packet.bytes);
}

}  // namespace

Frames without_link_duplicates(const Frames& recorded) {
  Frames once;
  for (const Frame* frame : recorded) {
    const bool seen = std::any_of(once.begin(), once.end(),
                                  [&](const Frame* other) { return is_double(*frame, *other); });
    if (!seen) once.push_back(frame);
  }
  return once;
}

}  // namespace urxe::replay
