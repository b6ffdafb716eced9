// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/resolution.h"

#include <sys/epoll.h>

#include <utility>

#include "packet/host/clock.h"
#include "provider/cm/ids/event_response.h"

namespace urxe::cm {
namespace {

/// Has the service's thread wake up for the resolution.
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
  RuntimeDevice::Guard guard(*(*device)->runtime);
  (*device)->runtime->refresh_gids();
  if (auto opened = (*device)->runtime->open_address(route.local); !opened) return opened;
  // Not before: after an error the program may try another device's address.
  if (auto attached = attach(id, **device); !attached) return attached;
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
  id.state = used ? IdState::kAddressResolved : IdState::kBound;
  tell_observers(id);
  if (used) return service.post(id, plain_event(EventType::kAddressResolved));
  service.post(id, plain_event(EventType::kAddressError, -used.error().value));
}

}  // namespace

Expected<void, Errno> start_resolution(Service& service, CmId& id,
                                       std::unique_ptr<AddressResolution> resolution) {
  id.resolution = std::move(resolution);
  id.state = IdState::kAddressQuery;
  // If the result is known already, the service's thread is not needed.
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
  // Each is either finished or put back with a later time, so one round per resolution is enough.
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

}  // namespace urxe::cm
