// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holder.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace urxe {
namespace {

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) << 32 | static_cast<uint32_t>(getpid());
}

}  // namespace

UnixName holder_name(uint64_t number) {
  // Not the user's, as other names are: a process that becomes another user's holds what it held.
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
