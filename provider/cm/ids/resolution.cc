// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/resolution.h"

#include <sys/epoll.h>

#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "packet/host/clock.h"
#include "provider/cm/ids/event_response.h"

namespace urxe::cm {
namespace {

/// Has the service's thread wake up for the resolution.
Expected<void, Errno> watch(Service& service, CmId& id) {
  id.resolution_deadline = id.resolution->deadline();
  try {
    service.resolutions.emplace(id.resolution_deadline, id.number);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
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
  id.paths.reserve(1);  // the last thing that may find no memory
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

Expected<void, Errno> use_result(Service& service, CmId& id,
                                 const Expected<Resolved, Errno>& result) {
  if (!result) return Unexpected<Errno>(result.error());
  try {
    return use_route(service, id, *result);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
}

/// ENOMEM: the program cannot be told how it ended.
Expected<void, Errno> finish(Service& service, CmId& id, const Expected<Resolved, Errno>& result) {
  cancel_resolution(service, id);
  const auto used = use_result(service, id, result);
  id.state = used ? IdState::kAddressResolved : IdState::kBound;
  tell_observers(id);
  return service.post_result(id, used ? plain_event(EventType::kAddressResolved)
                                      : plain_event(EventType::kAddressError, -used.error().value));
}

/// What is known of the resolution by now; nullopt: nothing.
std::optional<Expected<Resolved, Errno>> result_of(CmId& id, Instant now) {
  try {
    return id.resolution->poll(now);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
}

}  // namespace

Expected<void, Errno> start_resolution(Service& service, CmId& id,
                                       std::unique_ptr<AddressResolution> resolution) {
  id.resolution = std::move(resolution);
  id.state = IdState::kAddressQuery;
  // If the result is known already, the service's thread is not needed.
  if (const auto result = result_of(id, clock_now())) {
    auto told = finish(service, id, *result);
    if (!told) id.state = IdState::kBound;
    return told;
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
  if (const auto result = result_of(id, now)) return (void)finish(service, id, *result);
  if (id.resolution_fd >= 0) service.watch.remove(std::exchange(id.resolution_fd, -1));
  service.resolutions.erase({id.resolution_deadline, id.number});
  if (auto watched = watch(service, id); !watched) {
    (void)finish(service, id, error(watched.error().value));
  }
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
