// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/held_ports.h"

#include <algorithm>
#include <utility>

#include "packet/engine/udp/udp_socket.h"

namespace urxe {

Expected<int, Errno> HeldPorts::hold(uint16_t port) {
  auto found = std::ranges::find(ports_, port, &Port::port);
  if (found == ports_.end()) {
    auto holder = take_port(port);
    if (!holder) return error(holder.error().value);
    found = ports_.insert(ports_.end(), {port, 0, *std::move(holder)});
  }
  ++found->users;
  return found->holder.get();
}

void HeldPorts::release(uint16_t port) {
  const auto found = std::ranges::find(ports_, port, &Port::port);
  if (found != ports_.end() && --found->users == 0) ports_.erase(found);
}

}  // namespace urxe
