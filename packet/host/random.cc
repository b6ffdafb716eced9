// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/random.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "packet/host/clock.h"

namespace urxe {
namespace {

/// If getrandom(2) is forbidden: from the 16 random bytes that the kernel gives each program.
SipKey secret_of_program() {
  static std::atomic<uint64_t> calls{0};
  SipKey given{};
  const auto* const bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM));
  if (bytes != nullptr) std::memcpy(&given, bytes, sizeof given);
  std::array<uint64_t, 4> words{calls.fetch_add(1), static_cast<uint64_t>(getpid()),
                                static_cast<uint64_t>(clock_now().ns)};
  const auto half = [&](uint64_t number) {
    words[3] = number;
    return siphash(given, {reinterpret_cast<const uint8_t*>(words.data()), sizeof words});
  };
  return {half(0), half(1)};
}

}  // namespace

SipKey random_secret() {
  SipKey secret{};
  auto* bytes = reinterpret_cast<uint8_t*>(&secret);
  for (size_t filled = 0; filled < sizeof secret;) {
    const ssize_t got = getrandom(bytes + filled, sizeof secret - filled, 0);
    if (got < 0 && errno != EINTR) return secret_of_program();
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
