// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holder.h"

#include <cerrno>
#include <utility>

#include "packet/host/random.h"

namespace urxe {
UnixName holder_name(uint64_t number) {
  // Without the user's number, unlike other names: a process that changes its user keeps its
  // entries.
  return abstract_name("urxe/holder/%016llx", static_cast<unsigned long long>(number));
}

Expected<Holder, Errno> make_holder() {
  for (;;) {
    const uint64_t number = random_number();
    if (number == 0) continue;
    auto socket = open_named_socket(holder_name(number));
    if (socket) return Holder{number, *std::move(socket)};
    if (socket.error().value != EADDRINUSE) return Unexpected<Errno>(socket.error());
  }
}

}  // namespace urxe
