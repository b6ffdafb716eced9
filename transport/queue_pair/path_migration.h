// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Automatic path migration (IBTA vol. 1, 17.2.8). The initial state is MIGRATED. The application
// loads an alternate path and asks for REARM. A packet with MigReq 0 tells that the peer has done
// the same; the queue pair is then ARMED. It migrates, back to MIGRATED, when the application asks
// for it, when the retries on the primary path are used up, or when the peer has migrated (a packet
// with MigReq 1 on the alternate path). The alternate path is then the primary one.

/// Whether ibv_modify_qp() may ask for this: the alternate path's values are in range, and the
/// present state of migration allows the one wanted.
bool migration_is_valid(const ChannelAdapter& ca, const QueuePair& qp, const ibv_qp_attr& attr,
                        int mask);

/// Loads the alternate path that the attributes describe. Takes over the caller's reference to
/// `path`, the state shared by the queue pairs that send there.
void load_alternate_path(ChannelAdapter& ca, QueuePair& qp, Path* path);
/// Forgets the alternate path. The state is MIGRATED then.
void unload_alternate_path(ChannelAdapter& ca, QueuePair& qp);

/// Sets REARM or MIGRATED; migration_is_valid() must allow it.
void set_migration_state(ChannelAdapter& ca, QueuePair& qp, ibv_mig_state state);

/// Sends along `flow` from now on: it becomes the flow of the primary path. Takes over the
/// caller's reference to `path`, the state shared by the queue pairs that send there.
void change_flow(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Path* path);

/// Whether the packet asks an armed queue pair to migrate to the alternate path.
bool asks_to_migrate(const QueuePair& qp, const Bth& bth);

/// Whether a packet came from the peer's address: that of the primary path or, if the packet asks
/// an armed queue pair to migrate, that of the alternate path.
bool comes_from_peer(const QueuePair& qp, const Bth& bth, const Flow& flow);

/// Follows the peer's state of migration, which every accepted packet tells.
void follow_peer(ChannelAdapter& ca, QueuePair& qp, const Bth& bth);
/// A packet came from a wrong address. If it asked an armed queue pair to migrate, tells the
/// application.
void refuse_migration(ChannelAdapter& ca, QueuePair& qp, const Bth& bth);

/// Retries are used up: migrates if the queue pair is armed. Returns whether it did.
bool migrate_if_armed(ChannelAdapter& ca, QueuePair& qp);

/// The MigReq bit in the BTH of every packet that the queue pair sends.
inline bool mig_req(const QueuePair& qp) {
  return qp.migration.state == IBV_MIG_MIGRATED;
}

}  // namespace urxe
