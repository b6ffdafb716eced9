// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/queue_pairs/qp_path.h"

#include <cerrno>
#include <new>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/local_address.h"
#include "provider/runtime/errors.h"
#include "transport/device/address.h"

namespace urxe {
namespace {

void release(Qp& qp, std::optional<SourcePort>& port) {
  if (!port) return;
  qp.lane->release_source_port(port->local, port->port);
  port.reset();
}

/// Only a process of the same network namespace can have the address then, with sockets; only this
/// one, if the engine has addresses that the kernel does not know (dpdk).
PeerHost host_of(const Qp& qp, const Flow& flow) {
  return is_address_of_this_host(flow.destination) ||
                 is_own_address(qp.lane->device().config(), flow.destination)
             ? PeerHost::kThis
             : PeerHost::kOther;
}

/// Whether the port that is held stays: the peer knows it. A peer on this host takes packets of the
/// same connection from no other (PeerPorts), whatever flow label is wanted later.
bool stays(const Qp& qp, const SourcePort& port, const Flow& flow, uint32_t peer_qpn) {
  if (port.local != flow.source) return false;
  if (port.wanted == flow.source_port) return true;
  return port.peer == flow.destination && port.peer_qpn == peer_qpn &&
         host_of(qp, flow) == PeerHost::kThis;
}

/// Claims a port and releases the one held, unless it stays; 0 or an errno.
int claim(Qp& qp, std::optional<SourcePort>& port, const Flow& flow) try {
  const uint32_t peer_qpn = qp.queue_pair->attr.dest_qp_num;
  if (port && stays(qp, *port, flow, peer_qpn)) {
    port->peer = flow.destination;
    port->peer_qpn = peer_qpn;
    return 0;
  }
  release(qp, port);
  auto claimed = qp.lane->claim_source_port(flow.source, flow.source_port);
  if (!claimed) {
    print_failure(claimed.error().what, claimed.error().errno_value);
    return claimed.error().errno_value;
  }
  port = SourcePort{flow.source, *claimed, flow.source_port, flow.destination, peer_qpn};
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

int claim_primary(Qp& qp) {
  Device& device = qp.lane->device();
  if (int failed = claim(qp, qp.source_port, qp.queue_pair->flow()); failed != 0) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    (void)device.modify_qp(*qp.queue_pair, attr, IBV_QP_STATE, clock_now());
    return failed;
  }
  const Flow& flow = qp.queue_pair->flow();
  device.set_source_port(*qp.queue_pair, qp.source_port->port, host_of(qp, flow));
  const Gid& peer = flow.destination;
  const bool repairs = qp.queue_pair->service != Service::kUc;
  if (!qp.progress->engine()->find_hop(peer) && !repairs) qp.progress->wait_for_hop(peer);
  return 0;
}

int claim_alternate(Qp& qp) {
  Device& device = qp.lane->device();
  if (int failed = claim(qp, qp.alternate_port, qp.queue_pair->migration.alternate); failed != 0) {
    device.unload_alternate_path(*qp.queue_pair);
    return failed;
  }
  device.set_alternate_source_port(*qp.queue_pair, qp.alternate_port->port,
                                   host_of(qp, qp.queue_pair->migration.alternate));
  return 0;
}

/// Whether the change makes a UD queue pair receive, on all addresses.
bool receives_datagrams(const Qp& qp, const ibv_qp_attr& attr, int mask) {
  return qp.queue_pair->type == IBV_QPT_UD && (mask & IBV_QP_STATE) != 0 &&
         attr.qp_state == IBV_QPS_RTR;
}

int open_all(Qp& qp) {
  qp.owner->device().refresh_gids();
  auto opened = RuntimeDevice::open_addresses(*qp.lane);
  return opened ? 0 : opened.error().value;
}

int open_source(Qp& qp, const ibv_ah_attr& av) {
  RuntimeDevice& device = qp.owner->device();
  device.refresh_gids();
  const auto& gids = device.device().config().gids;
  if (av.is_global == 0 || av.grh.sgid_index >= gids.size()) return 0;
  auto opened = RuntimeDevice::open_address(*qp.lane, gids[av.grh.sgid_index]);
  return opened ? 0 : opened.error().value;
}

}  // namespace

int open_sources(Qp& qp, const ibv_qp_attr& attr, int mask) {
  if (qp.queue_pair->migration.on_alternate && qp.alternate_port) {
    // It has migrated: the primary path's port is not needed any more.
    release(qp, qp.source_port);
    qp.source_port = std::exchange(qp.alternate_port, std::nullopt);
  }
  if (receives_datagrams(qp, attr, mask)) {
    if (int failed = open_all(qp); failed != 0) return failed;
  }
  if ((mask & IBV_QP_AV) != 0) {
    if (int failed = open_source(qp, attr.ah_attr); failed != 0) return failed;
  }
  return (mask & IBV_QP_ALT_PATH) != 0 ? open_source(qp, attr.alt_ah_attr) : 0;
}

int claim_source_ports(Qp& qp, int mask) {
  if ((mask & IBV_QP_AV) != 0) {
    if (int failed = claim_primary(qp); failed != 0) return failed;
  }
  return (mask & IBV_QP_ALT_PATH) != 0 ? claim_alternate(qp) : 0;
}

void release_source_ports(Qp& qp) {
  release(qp, qp.source_port);
  release(qp, qp.alternate_port);
}

}  // namespace urxe
