// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/random.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "packet/host/clock.h"

namespace urxe {

SipKey random_secret() {
  SipKey secret{};
  auto* bytes = reinterpret_cast<uint8_t*>(&secret);
  for (size_t filled = 0; filled < sizeof secret;) {
    const ssize_t got = getrandom(bytes + filled, sizeof secret - filled, 0);
    if (got < 0 && errno != EINTR) break;
    if (got > 0) filled += static_cast<size_t>(got);
  }
  return secret;
}

uint64_t secret_number() {
  return random_secret().k0;
}

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  const auto now = static_cast<uint64_t>(clock_now().ns);
  return now << 32 ^ now ^ static_cast<uint64_t>(getpid());
}

}  // namespace urxe
