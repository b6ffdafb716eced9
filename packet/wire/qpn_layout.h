// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/types.h"

namespace urxe {

// The layout of the queue pair numbers that urxe gives out:
//
//     bit 23          15 14                       0
//        | slot (9 bits) |     index (15 bits)     |
//
// The slot names the process of the host that the queue pair belongs to, so that any process that
// receives a packet can find its owner. All queue pairs of a process have different indices, so
// that a packet finds its queue pair without a search.

inline constexpr unsigned kQpnBits = 24;
inline constexpr unsigned kQpIndexBits = 15;
inline constexpr uint32_t kQpIndices = 1U << kQpIndexBits;
inline constexpr uint32_t kSlots = 1U << (kQpnBits - kQpIndexBits);

constexpr Qpn make_qpn(uint32_t slot, uint32_t index) {
  return Qpn(slot << kQpIndexBits | index);
}
constexpr uint32_t slot_of(Qpn qpn) {
  return qpn.value() >> kQpIndexBits;
}
constexpr uint32_t index_of(Qpn qpn) {
  return qpn.value() % kQpIndices;
}

}  // namespace urxe
