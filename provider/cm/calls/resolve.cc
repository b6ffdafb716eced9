// SPDX-License-Identifier: BSD-2-Clause
// rdma_resolve_addr(3) and rdma_resolve_route(3).
#include <sys/epoll.h>

#include <cerrno>
#include <utility>

#include "packet/host/clock.h"
#include "provider/cm/calls/bind.h"
#include "provider/cm/calls/commands.h"
#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

/// An id that was not bound is bound to what the caller says, else to any address of the family.
Expected<void, Errno> bind_for(Service& service, CmId& id, const Address& source,
                               const Address& destination) {
  if (id.state != IdState::kIdle) return {};
  Address local = source;
  if (!local.is_set()) local = make_address(destination.family(), Gid{}, 0, 0);
  return bind_id(service, id, local, BindFor::kConnecting);
}

/// Sleeps on what the resolution waits for.
Expected<void, Errno> watch(Service& service, CmId& id) {
  id.resolution_deadline = id.resolution->deadline();
  service.resolutions.emplace(id.resolution_deadline, id.number);
  const int fd = id.resolution->wait_fd();
  if (fd < 0) return {};
  auto added = service.watch.add(fd, EPOLLIN, Watch::What::kResolution, id.number);
  if (added) id.resolution_fd = fd;
  return added;
}

Expected<void, Errno> use_route(Service& service, CmId& id, const Resolved& route) {
  auto device = use_device(service, route.device);
  if (!device) return Unexpected<Errno>(device.error());
  if (auto attached = attach(id, **device); !attached) return attached;
  Progress::Guard guard((*device)->runtime->progress());
  (*device)->runtime->refresh_gids();
  if (auto opened = (*device)->runtime->open_address(route.local); !opened) return opened;
  id.source = route.source;
  id.destination = route.destination;
  id.port = route.port;
  id.gid_index = route.gid_index;
  Path path;
  path.service_id = service_of(id.space, id.destination).value();
  path.local = route.local;
  path.remote = route.remote;
  path.hop_limit = route.hop_limit;
  path.mtu = (*device)->runtime->device().config().active_mtu;
  path.rate = rate_of((*device)->runtime->described().speed_mbps);
  id.paths.assign(1, path);
  return {};
}

void finish(Service& service, CmId& id, const Expected<Resolved, Errno>& result) {
  cancel_resolution(service, id);
  auto used = result ? use_route(service, id, *result)
                     : Expected<void, Errno>(Unexpected<Errno>(result.error()));
  if (used) {
    id.state = IdState::kAddressResolved;
    return service.post(id, plain_event(EventType::kAddressResolved));
  }
  id.state = IdState::kBound;
  service.post(id, plain_event(EventType::kAddressError, -used.error().value));
}

Expected<void, Errno> resolve(Service& service, CmId& id, const Address& source,
                              const Address& destination, uint32_t timeout_ms) {
  if (id.state != IdState::kIdle && id.state != IdState::kBound) return error(EINVAL);
  if (auto bound = bind_for(service, id, source, destination); !bound) return bound;
  if (id.source.family() != destination.family()) return error(EINVAL);
  auto resolution =
      AddressResolution::start(id.source, destination, milliseconds(timeout_ms), clock_now());
  if (!resolution) return Unexpected<Errno>(resolution.error());
  id.destination = destination;
  id.resolution = *std::move(resolution);
  id.state = IdState::kAddressQuery;
  // What is known already needs nobody to wait for it.
  if (auto result = id.resolution->poll(clock_now())) {
    finish(service, id, *result);
    return {};
  }
  if (auto watched = watch(service, id); !watched) {
    cancel_resolution(service, id);
    id.state = IdState::kBound;
    return watched;
  }
  service.watch.wake();
  return {};
}

}  // namespace

void cancel_resolution(Service& service, CmId& id) {
  if (id.resolution_fd >= 0) service.watch.remove(std::exchange(id.resolution_fd, -1));
  service.resolutions.erase({id.resolution_deadline, id.number});
  id.resolution.reset();
}

void poll_resolution(Service& service, CmId& id, Instant now) {
  if (id.resolution == nullptr) return;
  if (auto result = id.resolution->poll(now)) return finish(service, id, *result);
  if (id.resolution_fd >= 0) service.watch.remove(std::exchange(id.resolution_fd, -1));
  service.resolutions.erase({id.resolution_deadline, id.number});
  if (auto watched = watch(service, id); !watched)
    finish(service, id, error(watched.error().value));
}

void poll_due_resolutions(Service& service, Instant now) {
  // Each is put back with a later time, or is done; so many rounds do.
  for (size_t rounds = service.resolutions.size(); rounds > 0; --rounds) {
    if (service.resolutions.empty() || service.resolutions.begin()->first > now) return;
    const auto due = *service.resolutions.begin();
    CmId* id = service.ids.find(due.second);
    if (id == nullptr) {
      service.resolutions.erase(due);
    } else {
      poll_resolution(service, *id, now);
    }
  }
}

Expected<void, Errno> resolve_address(CmFile& file, uint32_t number, uint32_t timeout_ms,
                                      const sockaddr_storage& source, size_t source_size,
                                      const sockaddr_storage& destination,
                                      size_t destination_size) {
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    auto to = read_address(destination, destination_size);
    if (!to) return Unexpected<Errno>(to.error());
    Address from;
    if (source_size != 0 && source.ss_family != 0) {
      auto read = read_address(source, source_size);
      if (!read) return Unexpected<Errno>(read.error());
      from = *read;
    }
    return resolve(service, id, from, *to, timeout_ms);
  });
}

// On RoCE the address is the route.
Expected<void, Errno> resolve_route(CmFile& file, uint32_t number, uint32_t /*timeout_ms*/) {
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    if (id.state != IdState::kAddressResolved) return error(EINVAL);
    id.paths[0].traffic_class = id.options.tos.value_or(0);
    if (id.options.ack_timeout && *id.options.ack_timeout > 0) {
      id.paths[0].packet_lifetime = static_cast<uint8_t>(*id.options.ack_timeout - 1);
    }
    id.state = IdState::kRouteResolved;
    service.post(id, plain_event(EventType::kRouteResolved));
    return {};
  });
}

}  // namespace urxe::cm
