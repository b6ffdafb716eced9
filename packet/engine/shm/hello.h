// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "packet/base/expected.h"
#include "packet/host/descriptor_message.h"

namespace urxe {

/// The messages that make a link. The process that asks for it sends one with the memory and its
/// bell, and gets one with the other's bell; a process that refuses closes the connection.
struct LinkHello {
  static constexpr uint32_t kMagic = 0x7572786e;  ///< "urxn": changes with the memory's layout
  uint32_t magic = kMagic;
  uint32_t slot = 0;             ///< the sender's
  uint32_t interface_index = 0;  ///< the sender's
};

/// A LinkHello that is one, and from whom.
struct HeardHello {
  LinkHello hello;
  ReceivedMessage message;
};

/// Errors as send_message().
Expected<void, Errno> say_hello(int connection, const LinkHello& hello,
                                std::span<const int> descriptors);
/// The next message of a connection. EAGAIN: there is none yet; any other error: there will be no
/// good one.
Expected<HeardHello, Errno> hear_hello(int connection);

}  // namespace urxe
