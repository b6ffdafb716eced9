// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"
#include "transport/limits.h"

namespace urxe {
namespace {

/// RoCE has no LIDs, and the port reports 0 as its own. Programs that were written for LIDs, such
/// as rsockets, make an address handle without a GRH for their own LID to send to themselves.
bool names_own_lid(const ibv_ah_attr& attr) {
  return attr.is_global == 0 && attr.dlid == 0;
}

ibv_ah_attr to_itself(const DeviceConfig& config, ibv_ah_attr attr) {
  const auto own = std::ranges::find_if(config.gids, [](const Gid& gid) { return !gid.is_zero(); });
  if (own == config.gids.end()) return attr;
  attr.is_global = 1;
  attr.grh = {};
  attr.grh.sgid_index = static_cast<uint8_t>(own - config.gids.begin());
  std::ranges::copy(own->bytes, std::begin(attr.grh.dgid.raw));
  return attr;
}

Expected<Flow, Errno> resolve(RuntimeDevice& device, const ibv_ah_attr& attr) {
  if (attr.port_num != 1) return error(EINVAL);
  if (names_own_lid(attr)) {
    return device.device().resolve(to_itself(device.device().config(), attr));
  }
  if (auto flow = device.device().resolve(attr)) return flow;
  device.refresh_gids();
  return device.device().resolve(attr);
}

void release_ports(Ah& ah) {
  for (uint32_t number = 0; number < ah.source_ports.size(); ++number) {
    const uint16_t port = ah.source_ports[number].exchange(0);
    if (port == 0) continue;
    Lane& lane = ah.owner->device().lane(number);
    lane.progress().transmit_posted();  // requests to this address need its source port
    lane.release_source_port(ah.flow.source, port);
  }
}

/// Prepares each lane that has queue pairs for datagrams. Returns 0, or an errno: some of them may
/// be prepared then.
int prepare_lanes(Ah& ah) try {
  const Context& owner = *ah.owner;
  for (uint32_t lane = 0; owner.datagram_lanes >> lane != 0; ++lane) {
    if ((owner.datagram_lanes >> lane & 1) == 0) continue;
    if (int wrong = prepare(ah, owner.device().lane(lane)); wrong != 0) return wrong;
    // Nothing repairs the loss of datagrams that are sent before the answer.
    Progress& progress = owner.device().lane(lane).progress();
    const Gid& peer = ah.flow.destination;
    if (!progress.engine()->find_hop(peer)) progress.wait_for_hop(peer);
  }
  return 0;
} catch (const std::bad_alloc&) {
  return ENOMEM;
}

/// With the device's lock held.
int make_address(Ah& ah, const ibv_ah_attr& attr) {
  Context& owner = *ah.owner;
  auto flow = resolve(owner.device(), attr);
  if (!flow) return flow.error().value;
  ah.flow = *flow;
  if (owner.device().address_handles.load() >= kMaxAhs) return ENOMEM;
  if (int wrong = prepare_lanes(ah); wrong != 0) {
    release_ports(ah);
    return wrong;
  }
  owner.device().address_handles.fetch_add(1);
  owner.ahs.push_back(ah);
  return 0;
}

}  // namespace

int prepare(Ah& ah, Lane& lane) {
  std::atomic<uint16_t>& source_port = ah.source_ports[lane.number()];
  if (source_port.load(std::memory_order_relaxed) != 0) return 0;
  auto opened = RuntimeDevice::open_address(lane, ah.flow.source);
  if (!opened) return opened.error().value;
  auto port = lane.claim_source_port(ah.flow.source, ah.flow.source_port);
  if (!port) {
    print_failure(port.error().what, port.error().errno_value);
    return port.error().errno_value != 0 ? port.error().errno_value : EIO;
  }
  source_port.store(*port, std::memory_order_release);
  return 0;
}

int set_datagram(const Qp& qp, SendWqe& wqe, const ibv_ah* ah, uint32_t remote_qpn,
                 uint32_t remote_qkey) {
  if (ah == nullptr || !same_domain(ah->pd, qp.qp.pd)) return EINVAL;
  const Ah& address = *static_cast<const Ah*>(ah);
  const uint16_t port = address.source_ports[qp.lane->number()].load(std::memory_order_acquire);
  if (port == 0) return EINVAL;
  wqe.datagram = {address.flow, Qpn(remote_qpn), QKey(remote_qkey)};
  wqe.datagram.flow.source_port = port;
  return 0;
}

ibv_ah* create_ah(ibv_pd* handle, ibv_ah_attr* attr) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  try {
    auto ah = std::make_unique<Ah>();
    ah->owner = pd.owner;
    ah->domain = DomainUse(pd);
    RuntimeDevice::Guard guard(pd.owner->device());
    if (int wrong = make_address(*ah, *attr); wrong != 0) return fail(wrong);
    ah->handle = admit(*ah);
    return ah.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_ah(Ah& ah) {
  ah.owner->ahs.remove(ah);
  ah.owner->device().address_handles.fetch_sub(1);
  release_ports(ah);
}

int destroy_ah(ibv_ah* handle) noexcept {
  Ah& ah = ah_of(handle);
  if (!ah.owner->is_forked()) {
    RuntimeDevice::Guard guard(ah.owner->device());
    end_ah(ah);
  }
  ah.domain = DomainUse();
  ah.owner->retired.add(ah);
  return 0;
}

}  // namespace urxe
