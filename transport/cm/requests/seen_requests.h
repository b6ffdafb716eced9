// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "packet/base/siphash.h"
#include "packet/base/time.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/gid.h"

namespace urxe {

/// Remembers for a while which requests have come, in a table of fixed size: half a megabyte, which
/// is allocated by the first call. Later requests overwrite earlier ones, at places that nobody can
/// choose who does not know the secret.
class SeenRequests {
 public:
  explicit SeenRequests(const SipKey& secret) : secret_(secret) {}

  /// Whether the same request came at least 100 ms and at most 30 s ago. Its copies in between do
  /// not count. True also if there is no memory for the table.
  bool came_before(const Gid& peer, CommId id, Qpn qpn, Instant now);

 private:
  struct Entry {
    uint32_t tag = 0;
    uint32_t at = 0;  ///< in milliseconds, from 1 on; 0: empty
  };
  SipKey secret_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace urxe
