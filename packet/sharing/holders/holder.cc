// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/holders/holder.h"

#include <cerrno>
#include <utility>

#include "packet/host/random.h"

namespace urxe {

Expected<Holder, Errno> make_holder(const SharingDirectory& directory) {
  for (;;) {
    const uint64_t number = random_number() >> 3;  // two holders have different bytes
    if (number == 0) continue;
    auto lock = directory.take(holder_lock(number));
    if (lock) return Holder{number, *std::move(lock)};
    if (lock.error().value != EADDRINUSE) return Unexpected<Errno>(lock.error());
  }
}

bool is_alive(const SharingDirectory& directory, uint64_t holder) {
  return holder != 0 && directory.is_taken(holder_lock(holder));
}

}  // namespace urxe
