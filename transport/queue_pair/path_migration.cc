// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair/path_migration.h"

#include "transport/device/address.h"
#include "transport/limits.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"

namespace urxe {
namespace {

bool alternate_is_valid(const DeviceConfig& config, const ibv_qp_attr& attr) {
  return peer_is_valid(config, attr.alt_ah_attr) && attr.alt_pkey_index == 0 &&
         attr.alt_port_num == 1 && attr.alt_timeout <= kMaxTimeout;
}

/// Whether a packet with flow `received` came from where packets with flow `sent` go.
bool is_reverse_of(const Flow& received, const Flow& sent) {
  return received.source == sent.destination && received.destination == sent.source;
}

/// Makes the alternate path the primary one; sends the outstanding packets again.
void migrate(ChannelAdapter& ca, QueuePair& qp) {
  ibv_qp_attr& attr = qp.attr;
  attr.ah_attr = attr.alt_ah_attr;
  attr.pkey_index = attr.alt_pkey_index;
  attr.port_num = attr.alt_port_num;
  attr.timeout = attr.alt_timeout;
  PathMigration& migration = qp.migration;
  migration.state = IBV_MIG_MIGRATED;
  migration.on_alternate = true;
  ++migration.path->references;
  qp.peer_host = migration.peer_host;
  change_flow(ca, qp, migration.alternate, migration.path);
  start_over(ca, qp);
  ca.raise(IBV_EVENT_PATH_MIG, &qp);
}

}  // namespace

bool migration_is_valid(const ChannelAdapter& ca, const QueuePair& qp, const ibv_qp_attr& attr,
                        int mask) {
  const bool loads = (mask & IBV_QP_ALT_PATH) != 0;
  if (loads && !alternate_is_valid(ca.config, attr)) return false;
  if ((mask & IBV_QP_PATH_MIG_STATE) == 0) return true;
  const ibv_mig_state from = qp.migration.state;
  switch (attr.path_mig_state) {
    case IBV_MIG_MIGRATED:
      return from != IBV_MIG_REARM;
    case IBV_MIG_REARM:
      return from != IBV_MIG_ARMED && (loads || qp.migration.path != nullptr);
    default:
      return false;  // only a packet arms
  }
}

void load_alternate_path(ChannelAdapter& ca, QueuePair& qp, Path* path) {
  const ibv_ah_attr& av = qp.attr.alt_ah_attr;
  PathMigration& migration = qp.migration;
  Flow flow = flow_to(ca.config, av);
  flow.source_port = source_port_for(av.grh.flow_label, qp.qpn, Qpn(qp.attr.dest_qp_num));
  if (migration.path != nullptr) ca.paths.release(migration.path);
  migration.alternate = flow;
  migration.peer_host = PeerHost::kOther;
  migration.path = path;
  migration.on_alternate = false;
}

void unload_alternate_path(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.migration.path != nullptr) ca.paths.release(qp.migration.path);
  qp.migration = PathMigration{};
}

void set_migration_state(ChannelAdapter& ca, QueuePair& qp, ibv_mig_state state) {
  if (state == IBV_MIG_REARM) {
    qp.migration.state = IBV_MIG_REARM;
  } else {
    migrate_if_armed(ca, qp);
  }
}

void change_flow(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Path* path) {
  qp.flow_ = flow;
  qp.peer_ports = PeerPorts{};
  if (Path* old = qp.path; old != nullptr) {
    old->give_back(room_in_flight(qp));
    old->leave_line(ca, qp);
    old->wake_next(ca);
    ca.paths.release(old);
  }
  qp.path = path;
  path->take(room_in_flight(qp));
  if (qp.state() == IBV_QPS_RTS || qp.state() == IBV_QPS_SQD) ca.active.push_back(qp);
}

bool asks_to_migrate(const QueuePair& qp, const Bth& bth) {
  return bth.mig_req && qp.migration.state == IBV_MIG_ARMED;
}

bool comes_from_peer(const QueuePair& qp, const Bth& bth, const Flow& flow) {
  return is_reverse_of(flow, asks_to_migrate(qp, bth) ? qp.migration.alternate : qp.flow());
}

void follow_peer(ChannelAdapter& ca, QueuePair& qp, const Bth& bth) {
  PathMigration& migration = qp.migration;
  if (migration.state == IBV_MIG_REARM && !bth.mig_req) {
    migration.state = IBV_MIG_ARMED;
    migration.error_told = false;
  } else if (migration.state == IBV_MIG_ARMED && bth.mig_req) {
    migrate(ca, qp);
  }
}

void refuse_migration(ChannelAdapter& ca, QueuePair& qp, const Bth& bth) {
  PathMigration& migration = qp.migration;
  if (migration.state != IBV_MIG_ARMED || !bth.mig_req || migration.error_told) return;
  migration.error_told = true;  // the peer repeats itself
  ca.raise(IBV_EVENT_PATH_MIG_ERR, &qp);
}

bool migrate_if_armed(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.migration.state != IBV_MIG_ARMED) return false;
  migrate(ca, qp);
  return true;
}

}  // namespace urxe
