// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/flush_execution.h"

#include "transport/later_verbs.h"
#include "transport/limits.h"

namespace urxe {

int flush_rights(const Feth& feth) {
  int rights = 0;
  if ((feth.placement & Feth::kGlobal) != 0) rights |= kAccessFlushGlobal;
  if ((feth.placement & Feth::kPersistent) != 0) rights |= kAccessFlushPersistent;
  return rights;
}

Check check_flush(const QueuePair& qp, const Headers& headers) {
  constexpr unsigned kPlacements = Feth::kGlobal | Feth::kPersistent;
  const Feth& feth = headers.feth;
  if (feth.placement == 0 || (feth.placement & ~kPlacements) != 0) return Check::kPlacement;
  if (feth.selectivity > Feth::kRegion) return Check::kPlacement;
  const auto rights = static_cast<unsigned>(flush_rights(feth));
  if ((qp.attr.qp_access_flags & rights) != rights) return Check::kOperation;
  const bool is_range = feth.selectivity == Feth::kRange;
  return is_range && headers.reth.dma_length > kMaxMessage ? Check::kMessageLength : Check::kNone;
}

RemoteRange flushed_range(const MemoryTable& memory, const Headers& headers) {
  const Reth& reth = headers.reth;
  if (headers.feth.selectivity == Feth::kRange) return {reth.rkey, reth.va, reth.dma_length};
  return {reth.rkey, memory.first_address(reth.rkey), 0};
}

}  // namespace urxe
