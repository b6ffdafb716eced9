// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "packet/wire/gid.h"
#include "tools/drill/script.h"

namespace urxe::drill {

/// The queue pair numbers that scripts name, whatever the real ones are.
inline constexpr uint32_t kScriptQpn = 0x11;
inline constexpr uint32_t kScriptPeerQpn = 0x22;

inline constexpr size_t kLocalBytes = 131072;    ///< of the region `local`
inline constexpr size_t kReceiveOffset = 65536;  ///< of the receive buffers in it

inline constexpr int kAllRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// The peer of a queue pair.
struct Peer {
  Gid gid;
  uint32_t qpn = kScriptPeerQpn;
};

ibv_qp_type type_of(const Statement& qp);
/// The attributes that a `qp` statement sets. `timeout` is that of statements that name none.
ibv_qp_attr attributes(const Statement& qp, const Peer& peer, uint8_t timeout);
/// The attributes of a migration that a `qp` statement with `alternate` sets on the way to a state:
/// the alternate path is the same path again.
int migration_mask(const Statement& qp, ibv_qp_state to);
/// 256 is 1, ... 4096 is 5; 0 for what is no MTU.
ibv_mtu mtu_of(uint64_t bytes);
uint32_t big_endian(uint64_t value);

}  // namespace urxe::drill
