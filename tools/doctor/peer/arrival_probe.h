// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "tools/doctor/peer/path_probe.h"

namespace urxe::doctor {

/// Finds what packets arrive at the peer, of those that the interface and the routers let pass. No
/// packet of RoCEv2 has an answer whatever its size: those for nobody's queue pair are dropped in
/// silence, and messages of the connection manager all have one size. So datagrams to closed ports
/// are sent, as traceroute(8) does; a host says by ICMP that one has arrived.
///
/// Returns the largest path MTU whose packets arrive; none: the peer answers not even small ones.
std::optional<ibv_mtu> probe_arrival(const PeerAddress& peer, uint32_t ip_mtu);

}  // namespace urxe::doctor
