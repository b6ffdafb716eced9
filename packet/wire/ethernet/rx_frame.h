// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace urxe {

/// An Ethernet frame that an interface has received or, for sniffers, sent: as it is on the wire,
/// without the frame check sequence.
struct RxFrame {
  enum class To : uint8_t {
    kThisHost,    ///< or a group
    kOther,       ///< another host of the link
    kOutgoing,    ///< sent by this host
    kLoopedBack,  ///< sent by a queue pair of this device, and perhaps for another one, too
  };
  std::span<const uint8_t> bytes;
  To to = To::kThisHost;
  bool transport_is_right = false;  ///< the checksum of TCP or UDP is known to be right
};

}  // namespace urxe
