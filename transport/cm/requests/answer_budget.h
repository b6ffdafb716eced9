// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/wire/gid.h"

namespace urxe {

/// How many messages that belong to no communication may be answered: 2000 a second of one source
/// and 10000 in all, with 512 and 2048 at once. Sources share a fixed number of shares, at places
/// that nobody can choose who does not know the secret. An answer that is not sent is lost to the
/// peer, which asks again.
class AnswerBudget {
 public:
  explicit AnswerBudget(const SipKey& secret) : secret_(secret) {}
  /// True: the answer may be sent, and is counted.
  bool take(const Gid& source, Instant now);

 private:
  /// When the share's rate, kept from the beginning on, would allow its next answer.
  struct Share {
    Instant next;
  };
  SipKey secret_;
  std::array<Share, 256> shares_{};
  Share all_{};
};

}  // namespace urxe
