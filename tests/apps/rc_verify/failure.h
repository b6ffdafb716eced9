// SPDX-License-Identifier: BSD-2-Clause
// How the program ends when something is wrong. Each kind has its exit code, so that a caller can
// tell corruption from a peer that was killed.
#pragma once

#include <cstdarg>
#include <stdexcept>
#include <string>

namespace rc_verify {

enum class Outcome {
  kVerified = 0,
  kMismatch = 1,  // Data or a completion is not what it must be, or something never came.
  kSetup = 2,     // Bad options, no such device, a verb that refused.
  kPeerLost = 3,  // The other process is gone.
};

class Failure : public std::runtime_error {
 public:
  Failure(Outcome outcome, const std::string& what) : std::runtime_error(what), outcome_(outcome) {}
  Outcome outcome() const { return outcome_; }

 private:
  Outcome outcome_;
};

// Formats as printf does.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// Throws a Failure of the kind named.
[[noreturn]] void mismatch(const std::string& what);
[[noreturn]] void setup_failed(const std::string& what);
// As setup_failed, with the text of errno appended.
[[noreturn]] void system_failed(const std::string& what);
[[noreturn]] void peer_lost(const std::string& what);

}  // namespace rc_verify
