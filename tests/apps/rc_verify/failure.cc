// SPDX-License-Identifier: BSD-2-Clause
#include "failure.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rc_verify {

std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

void mismatch(const std::string& what) {
  throw Failure(Outcome::kMismatch, what);
}
void setup_failed(const std::string& what) {
  throw Failure(Outcome::kSetup, what);
}
void system_failed(const std::string& what) {
  throw Failure(Outcome::kSetup, what + ": " + std::strerror(errno));
}
void peer_lost(const std::string& what) {
  throw Failure(Outcome::kPeerLost, what);
}

}  // namespace rc_verify
