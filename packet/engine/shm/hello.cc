// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/hello.h"

#include <cerrno>
#include <utility>

#include "packet/wire/qpn_layout.h"

namespace urxe {

Expected<void, Errno> say_hello(int connection, const LinkHello& hello,
                                std::span<const int> descriptors) {
  return send_message(connection, {reinterpret_cast<const uint8_t*>(&hello), sizeof hello},
                      descriptors);
}

Expected<HeardHello, Errno> hear_hello(int connection) {
  LinkHello hello;
  auto message = receive_message(connection, {reinterpret_cast<uint8_t*>(&hello), sizeof hello});
  if (!message) return Unexpected<Errno>(message.error());
  const bool valid = message->bytes == sizeof hello && hello.magic == LinkHello::kMagic;
  if (!valid || hello.slot >= kSlots) return error(EPROTO);
  return HeardHello{hello, *std::move(message)};
}

}  // namespace urxe
