// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// One line for people: "RC SEND Only qp 0x11 psn 5 ack len 64".
std::string format(const PacketView& packet);

}  // namespace urxe
