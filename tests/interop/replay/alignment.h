// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tests/interop/replay/frame.h"

namespace urxe::replay {

/// A packet of ours and the recorded one that corresponds to it; nullptr where there is none.
struct Pair {
  const Frame* ours = nullptr;
  const Frame* recorded = nullptr;
};

/// Pairs the packets of two sequences, which both stay in order, so that as many as possible have a
/// partner, each the earliest it can have. Partners have the same PSN and are of one kind: the same
/// request, a READ response, an atomic acknowledge, an ACK, an RNR NAK or a NAK.
std::vector<Pair> align(const Frames& ours, const Frames& recorded);

}  // namespace urxe::replay
