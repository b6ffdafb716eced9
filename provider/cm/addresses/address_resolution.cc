// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/address_resolution.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "packet/host/file_descriptor.h"
#include "provider/cm/addresses/device_lookup.h"
#include "provider/cm/addresses/fixed_route.h"
#include "provider/cm/addresses/neighbour.h"
#include "provider/cm/addresses/route_query.h"

namespace urxe::cm {
namespace {

/// Between looks at a neighbour if the kernel reports no change.
constexpr Duration kRecheck = milliseconds(100);

bool is_narrow_group(const Gid& gid) {
  return gid.bytes[0] == 0xff && ((gid.bytes[1] & 0xf) == 1 || (gid.bytes[1] & 0xf) == 2);
}

/// Whether the address means something on one link only.
bool is_of_link(const Gid& gid) {
  return gid.is_ipv6_link_local() || is_narrow_group(gid);
}

uint32_t scope_on(const Gid& gid, uint32_t ifindex) {
  return is_of_link(gid) ? ifindex : 0;
}

Address loopback_of(const Address& any) {
  const uint8_t ipv4[4] = {127, 0, 0, 1};
  Gid ipv6;
  ipv6.bytes[15] = 1;
  return with_host(any, any.family() == AF_INET ? Gid::from_ipv4(ipv4) : ipv6, 0);
}

/// The link of an AF_IB destination without a scope: the link of the device that has its GID, or of
/// the only device with a link-local GID. 0: unknown.
uint32_t link_of_gid(const Gid& gid) {
  uint32_t only = 0;
  size_t count = 0;
  for (const DeviceDescription& device : list_devices()) {
    if (std::count(device.gids.begin(), device.gids.end(), gid) != 0) return device.ifindex;
    const bool has_link = std::any_of(device.gids.begin(), device.gids.end(),
                                      [](const Gid& own) { return own.is_ipv6_link_local(); });
    if (!has_link) continue;
    only = device.ifindex;
    ++count;
  }
  return count == 1 ? only : 0;
}

}  // namespace

struct AddressResolution::Impl {
  using Result = Expected<Resolved, Errno>;

  Address source;  ///< as asked for
  Address destination;
  Instant end;
  Instant next_look;
  std::optional<Result> result;

  // Once the way is known:
  std::optional<Resolved> way;
  uint32_t ifindex = 0;
  Gid next_hop;
  FileDescriptor watch;

  [[nodiscard]] bool has_source() const { return source.is_set() && !source.is_any(); }

  Expected<void, Errno> find_way();
  Expected<void, Errno> find_unicast_way(const std::optional<DeviceGid>& from);
  Expected<void, Errno> find_group_way(const std::optional<DeviceGid>& from);
  void set_fixed_way(const DeviceGid& from);
  void set_way(const std::optional<DeviceGid>& from, const Route& route);
  Expected<Resolved, Errno> resolve_way(const std::optional<DeviceGid>& from, const Route& route);
  void look(Instant now);
  Expected<bool, Errno> has_neighbour();
};

/// Finds the device, both addresses, and the neighbour (next_hop), if there is one. An error: there
/// is no route; any other failure becomes the result.
Expected<void, Errno> AddressResolution::Impl::find_way() {
  std::optional<DeviceGid> from;
  if (has_source()) {
    auto found = find_device(source);
    if (!found) result = error(found.error().value);
    if (!found) return {};
    from = *std::move(found);
  }
  return destination.is_multicast() ? find_group_way(from) : find_unicast_way(from);
}

Expected<void, Errno> AddressResolution::Impl::find_unicast_way(
    const std::optional<DeviceGid>& from) {
  const Gid to = destination.gid();
  const auto fixed = from ? from : find_fixed_neighbour(to);
  if (fixed && fixed->device.is_fixed()) {
    set_fixed_way(*fixed);
    return {};
  }
  const uint32_t link = to.is_ipv6_link_local() ? destination.scope_id() : 0;
  const auto route =
      find_route(to, from ? std::optional(from->device.gids[from->index]) : std::nullopt, link);
  if (!route) {
    const auto gateway = from ? std::nullopt : find_fixed_gateway(to);
    if (!gateway) return error(route.error().value);
    set_fixed_way(*gateway);
    return {};
  }
  set_way(from, *route);
  const bool is_local = route->kind == Route::Kind::kLocal;
  if (!is_local && has_neighbours(route->ifindex)) {
    ifindex = route->ifindex;
    next_hop = route->gateway.value_or(to);
  }
  return {};
}

/// The engine finds the neighbour by itself when there are packets for it.
void AddressResolution::Impl::set_fixed_way(const DeviceGid& from) {
  Route route;
  route.ifindex = from.device.ifindex;
  route.source = from.device.gids[from.index];
  set_way(from, route);
}

Expected<void, Errno> AddressResolution::Impl::find_group_way(
    const std::optional<DeviceGid>& from) {
  uint32_t link = destination.scope_id();
  if (link == 0 && from) link = from->device.ifindex;
  if (from) {
    Route through;
    through.ifindex = link;
    set_way(from, through);
    return {};
  }
  const auto route = find_route(destination.gid(), std::nullopt, link);
  if (!route) return error(route.error().value);
  set_way(from, *route);
  return {};
}

void AddressResolution::Impl::set_way(const std::optional<DeviceGid>& from, const Route& route) {
  auto resolved = resolve_way(from, route);
  if (resolved) {
    way = *std::move(resolved);
  } else {
    result = error(resolved.error().value);
  }
}

Expected<Resolved, Errno> AddressResolution::Impl::resolve_way(const std::optional<DeviceGid>& from,
                                                               const Route& route) {
  // The loopback interface is the route to all of our own addresses, whatever their link.
  const uint32_t link = destination.scope_id() != 0 ? destination.scope_id() : route.ifindex;
  std::optional<DeviceGid> local = from;
  if (!local) {
    if (!route.source) return error(EADDRNOTAVAIL);
    const Address chosen = make_address(kAfIb, *route.source, 0, scope_on(*route.source, link));
    auto found = find_device(chosen);
    if (!found) return error(found.error().value);
    local = *std::move(found);
  }
  const Gid gid = has_source() ? source.gid() : *route.source;
  Resolved resolved;
  resolved.device = local->device.name;
  resolved.gid_index = local->index;
  resolved.local = local->device.gids[local->index];
  const Address asked = source.is_set() ? source : make_address(destination.family(), Gid{}, 0);
  resolved.source = with_host(asked, gid, scope_on(gid, local->device.ifindex));
  resolved.remote = destination.gid();
  resolved.destination = with_host(destination, resolved.remote, scope_on(resolved.remote, link));
  if (destination.is_loopback()) {
    auto remote = find_local(destination);
    if (!remote) return error(remote.error().value);
    resolved.remote = remote->gid;
  }
  return resolved;
}

/// False: not yet. A neighbour that does not respond is asked again until the time is over, as in
/// Linux.
Expected<bool, Errno> AddressResolution::Impl::has_neighbour() {
  if (next_hop.is_zero()) return true;
  for (bool may_ask : {true, false}) {
    const auto state = neighbour_state(next_hop, ifindex);
    // The kernel cannot be asked. If the neighbour is missing, the connection's retries will tell.
    if (!state) return true;
    if (*state == NeighbourState::kKnown) return true;
    if (!watch) {
      auto opened = watch_neighbours();
      if (!opened) return error(opened.error().value);
      watch = *std::move(opened);
    }
    if (*state == NeighbourState::kAsking) return false;
    if (may_ask) (void)ask_for_neighbour(way->remote, way->local, ifindex);
  }
  return false;
}

void AddressResolution::Impl::look(Instant now) {
  next_look = now + kRecheck;
  if (watch) take_neighbour_changes(watch);
  const auto there = has_neighbour();
  if (!there) {
    result = error(there.error().value);
  } else if (*there) {
    result = *way;
  } else if (now >= end) {
    result = error(ETIMEDOUT);
  }
  if (result) watch.reset();
}

AddressResolution::AddressResolution(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AddressResolution::~AddressResolution() = default;

Expected<std::unique_ptr<AddressResolution>, Errno> AddressResolution::start(
    const Address& source, const Address& destination, Duration timeout, Instant now) try {
  if (!destination.is_set()) return error(EINVAL);
  if (source.is_set() && source.family() != destination.family()) return error(EINVAL);
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  impl->destination = destination;
  if (destination.is_any()) {
    impl->destination = impl->has_source() ? with_host(destination, source.gid(), source.scope_id())
                                           : loopback_of(destination);
  }
  Address& to = impl->destination;
  if (is_of_link(to.gid()) && to.scope_id() == 0) {
    uint32_t link = source.is_link_local() ? source.scope_id() : 0;
    if (link == 0 && to.family() == kAfIb) link = link_of_gid(to.gid());
    // A group finds its interface by the source address or the route.
    if (link == 0 && !to.is_multicast()) return error(EINVAL);
    to = with_host(to, to.gid(), link);
  }
  impl->end = now + timeout;
  impl->next_look = now;
  if (auto found = impl->find_way(); !found) return Unexpected<Errno>(found.error());
  return std::unique_ptr<AddressResolution>(new AddressResolution(std::move(impl)));
} catch (const std::bad_alloc&) {
  return error(ENOMEM);
}

std::optional<Expected<Resolved, Errno>> AddressResolution::poll(Instant now) try {
  if (!impl_->result) impl_->look(now);
  return impl_->result;
} catch (const std::bad_alloc&) {
  return Expected<Resolved, Errno>(error(ENOMEM));
}

Instant AddressResolution::deadline() const {
  return std::min(impl_->next_look, impl_->end);
}

int AddressResolution::wait_fd() const {
  return impl_->watch.get();
}

}  // namespace urxe::cm
