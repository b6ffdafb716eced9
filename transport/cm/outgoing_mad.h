// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/cm/mad.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// A MAD to send from QP1. `flow.source` is this side; the device fills in the source port.
struct OutgoingMad {
  Flow flow;
  MadBytes mad{};
  Qpn qpn = kGsiQpn;  ///< of the receiver
};

}  // namespace urxe
