// SPDX-License-Identifier: BSD-2-Clause
#include "tests/transport/cm/sim/sim_ledger.h"

namespace urxe::cmsim {

bool Ledger::has_asked(const End& peer, Qpn qpn) const {
  const auto found = said_.find(peer);
  return found != said_.end() && found->second.qpn == qpn;
}

bool Ledger::has_agreed(const End& peer, Qpn qpn, const End& end) const {
  const auto found = said_.find(peer);
  if (found == said_.end()) return false;
  const Said& said = found->second;
  return said.agreed && said.qpn == qpn && said.peer == end;
}

}  // namespace urxe::cmsim
