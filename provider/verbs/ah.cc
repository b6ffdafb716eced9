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

/// With the device's lock held.
int make_address(Ah& ah, const ibv_ah_attr& attr) {
  Context& owner = *ah.owner;
  auto flow = resolve(owner.device(), attr);
  if (!flow) return flow.error().value;
  ah.flow = *flow;
  if (owner.device().address_handles.load() >= kMaxAhs) return ENOMEM;
  if (owner.sends_datagrams) {
    if (int wrong = prepare(ah); wrong != 0) return wrong;
  }
  owner.device().address_handles.fetch_add(1);
  owner.ahs.push_back(ah);
  return 0;
}

}  // namespace

int prepare(Ah& ah) {
  if (ah.ready.load(std::memory_order_relaxed)) return 0;
  RuntimeDevice& device = ah.owner->device();
  if (auto opened = device.open_address(ah.flow.source); !opened) return opened.error().value;
  PacketEngine& engine = *ah.owner->progress().engine();
  auto port = engine.claim_source_port(ah.flow.source, ah.flow.source_port);
  if (!port) {
    print_failure(port.error().what, port.error().errno_value);
    return port.error().errno_value != 0 ? port.error().errno_value : EIO;
  }
  ah.flow.source_port = *port;
  ah.ready.store(true, std::memory_order_release);
  return 0;
}

int set_datagram(const Qp& qp, SendWqe& wqe, const ibv_ah* ah, uint32_t remote_qpn,
                 uint32_t remote_qkey) {
  if (ah == nullptr || !same_domain(ah->pd, qp.qp.pd)) return EINVAL;
  const Ah& address = *static_cast<const Ah*>(ah);
  if (!address.ready.load(std::memory_order_acquire)) return EINVAL;
  wqe.datagram = {address.flow, Qpn(remote_qpn), QKey(remote_qkey)};
  return 0;
}

ibv_ah* create_ah(ibv_pd* handle, ibv_ah_attr* attr) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  try {
    auto ah = std::make_unique<Ah>();
    ah->owner = pd.owner;
    ah->domain = DomainUse(pd);
    Progress::Guard guard(pd.owner->progress());
    if (int wrong = make_address(*ah, *attr); wrong != 0) return fail(wrong);
    ah->handle = admit(*ah);
    return ah.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_ah(Ah& ah) {
  Progress& progress = ah.owner->progress();
  ah.owner->ahs.remove(ah);
  ah.owner->device().address_handles.fetch_sub(1);
  if (!ah.ready.load(std::memory_order_relaxed)) return;
  progress.transmit_posted();  // requests to this address need its source port
  progress.engine()->release_source_port(ah.flow.source, ah.flow.source_port);
}

int destroy_ah(ibv_ah* handle) noexcept {
  Ah& ah = ah_of(handle);
  if (!ah.owner->is_forked()) {
    Progress::Guard guard(ah.owner->progress());
    end_ah(ah);
  }
  ah.domain = DomainUse();
  ah.owner->retired.add(ah);
  return 0;
}

}  // namespace urxe
