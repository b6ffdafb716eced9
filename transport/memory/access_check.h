// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "transport/memory/memory_region.h"
#include "transport/observation/error_cause.h"

namespace urxe {

// Which check an access fails that MemoryTable::local() or remote() refuses. Slow; kNone: none.

Check failing_local_check(const MemoryTable& memory, PdId pd, const Sge& sge, bool write);
Check failing_remote_check(const MemoryTable& memory, PdId pd, Qpn qpn, RKey rkey, uint64_t va,
                           uint64_t length, int access);

}  // namespace urxe
