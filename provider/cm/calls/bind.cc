// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/calls/bind.h"

#include <cerrno>
#include <utility>

#include "packet/host/read_file.h"
#include "provider/cm/addresses/device_lookup.h"

namespace urxe::cm {
namespace {

Expected<void, Errno> bind_device(Service& service, CmId& id, const Address& address) {
  auto local = find_local(address);
  if (!local) return Unexpected<Errno>(local.error());
  auto device = use_device(service, local->device);
  if (!device) return Unexpected<Errno>(device.error());
  auto attached = attach(id, **device);
  if (!attached) return attached;
  id.port = local->port;
  id.gid_index = local->gid_index;
  return {};
}

/// Whether listeners on IPv6's wildcard leave IPv4 alone unless told otherwise, as sockets do.
bool is_ipv6_only_by_default() {
  const auto file = read_file("/proc/sys/net/ipv6/bindv6only");
  return file && file->starts_with('1');
}

Expected<void, Errno> bind_port(CmId& id, BindFor what) {
  auto space = select_port_space(id.space, id.source);
  if (!space) return Unexpected<Errno>(space.error());
  auto claim = what == BindFor::kConnecting && id.source.port() == 0
                   ? PortClaim::take_ephemeral(*space)
                   : PortClaim::claim({.space = *space,
                                       .address = id.source,
                                       .reuse_address = id.options.reuse_address,
                                       .af_only = id.af_only()});
  if (!claim) return Unexpected<Errno>(claim.error());
  id.claim = *std::move(claim);
  id.source.set_port(id.claim->port());
  return {};
}

}  // namespace

Expected<void, Errno> bind_id(Service& service, CmId& id, const Address& address, BindFor what) {
  if (id.state != IdState::kIdle) return error(EINVAL);
  if (address.family() == AF_INET6 && address.is_link_local() && address.scope_id() == 0) {
    return error(EINVAL);
  }
  // As in Linux a loopback address binds no device, and needs none: libfabric looks for devices so.
  const bool is_ip_loopback = address.is_loopback() && address.family() != kAfIb;
  const bool has_device = !address.is_any() && !is_ip_loopback;
  if (has_device) {
    if (auto bound = bind_device(service, id, address); !bound) return bound;
  }
  const Address before = std::exchange(id.source, address);
  if (!id.options.af_only && address.family() == AF_INET6 && address.is_any()) {
    id.options.af_only = is_ipv6_only_by_default();
  }
  if (auto bound = bind_port(id, what); !bound) {
    id.source = before;
    detach(id);
    return bound;
  }
  // Programs such as qperf tell their peers the port before they listen, so rdma_listen() must be
  // quick.
  if (what == BindFor::kAnything && !has_device && id.uses_ip()) {
    try {
      prepare_devices(service);
    } catch (const std::bad_alloc&) {
      // rdma_listen() takes longer.
    }
  }
  // As in Linux: applications see the family in rdma_get_peer_addr(3).
  if (!id.destination.is_set()) id.destination.storage.ss_family = address.family();
  id.state = IdState::kBound;
  return {};
}

Expected<void, Errno> bind_address(CmFile& file, uint32_t number, const sockaddr_storage& address,
                                   size_t size) {
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    auto local = read_address(address, size);
    if (!local) return Unexpected<Errno>(local.error());
    return bind_id(service, id, *local, BindFor::kAnything);
  });
}

}  // namespace urxe::cm
