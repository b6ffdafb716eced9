// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/gid.h"

namespace urxe {

/// Remembers the answers of the last moment that went to messages of no communication, in a table
/// of fixed size: 64 KiB, which are allocated by the first call. More answers than have a place
/// there exceed the AnswerBudget. Later answers overwrite earlier ones, at places that nobody can
/// choose who does not know the secret.
class RecentAnswers {
 public:
  explicit RecentAnswers(const SipKey& secret) : secret_(secret) {}

  /// Whether the same answer went to the same peer less than `interval` ago; if not, it is
  /// remembered. Answers to copies of one message are the same, whatever transaction they name.
  /// False also if there is no memory for the table.
  bool has(const Gid& peer, const MadBytes& answer, Duration interval, Instant now);

 private:
  struct Entry {
    uint64_t answer = 0;  ///< its hash; 0: empty
    Instant at;
  };
  SipKey secret_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace urxe
