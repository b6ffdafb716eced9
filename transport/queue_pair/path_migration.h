// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Automatic path migration (IBTA vol. 1, 17.2.8). MIGRATED is the initial state; the application
// moves on to REARM, once it has loaded an alternate path. A packet that says that the peer has
// done so too (MigReq 0) makes the queue pair ARMED. It migrates, back to MIGRATED, when the
// application says so, when its retries on the primary path are used up, or when the peer has
// migrated (a packet with MigReq 1 on the alternate path). From then on the alternate path is the
// primary one.

/// Whether ibv_modify_qp() may ask for this: the alternate path's values are in range, and the
/// state of migration can be left for the one wanted.
bool migration_is_valid(const ChannelAdapter& ca, const QueuePair& qp, const ibv_qp_attr& attr,
                        int mask);

/// Takes the alternate path over from the attributes.
void load_alternate_path(ChannelAdapter& ca, QueuePair& qp);
/// Forgets it; nothing is armed then.
void unload_alternate_path(ChannelAdapter& ca, QueuePair& qp);

/// REARM, or MIGRATED. Only what migration_is_valid() allows.
void set_migration_state(ChannelAdapter& ca, QueuePair& qp, ibv_mig_state state);

/// What was sent to the primary path's destination goes to that of `flow`, which becomes the
/// primary path. Takes over the reference to `path`.
void change_path(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Path* path);

/// Whether a packet came by the path that it has to come by: the primary one, or where it asks an
/// armed queue pair to migrate, the alternate one.
bool arrives_on_path(const QueuePair& qp, const Bth& bth, const Flow& flow);

/// What an accepted packet says of the peer's state of migration.
void follow_peer(ChannelAdapter& ca, QueuePair& qp, const Bth& bth);
/// A packet came by a wrong path: tells the application where it was meant to make an armed queue
/// pair migrate.
void refuse_migration(ChannelAdapter& ca, QueuePair& qp, const Bth& bth);

/// Retries are used up: migrates where the queue pair is armed.
bool migrate_if_armed(ChannelAdapter& ca, QueuePair& qp);

/// BTH MigReq of all that the queue pair sends.
inline bool mig_req(const QueuePair& qp) {
  return qp.migration.state == IBV_MIG_MIGRATED;
}

}  // namespace urxe
