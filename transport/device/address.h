// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/wire/roce_packet.h"
#include "transport/device/channel_adapter.h"

namespace urxe {

// From address vectors to flows: the contents of IP and UDP headers (IBTA annex A17.4).

/// Whether a queue pair or an address handle can have this address vector: its port exists, it has
/// a GRH (RoCE has no other addresses), and its GID index is in use.
bool address_is_valid(const DeviceConfig& config, const ibv_ah_attr& av);

/// Whether a connected queue pair can have it: as address_is_valid(), and not a multicast group.
bool peer_is_valid(const DeviceConfig& config, const ibv_ah_attr& av);

/// Whether this device has the address.
bool is_own_address(const DeviceConfig& config, const Gid& address);

/// The flow to a valid address vector, with the source port that datagrams have.
Flow flow_to(const DeviceConfig& config, const ibv_ah_attr& av);

/// The UDP source port of a connected queue pair: 14 bits of the flow label folded into the dynamic
/// ports (rdma-core's rule). Without a label, one for all queue pairs of this process that have the
/// same peer process, so that their packets can share datagrams.
uint16_t source_port_for(uint32_t flow_label, Qpn local, Qpn remote);

}  // namespace urxe
