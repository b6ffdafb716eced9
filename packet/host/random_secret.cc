// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/random_secret.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

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

}  // namespace urxe
