// SPDX-License-Identifier: BSD-2-Clause
// rdma_resolve_addr(3) and rdma_resolve_route(3).
#include "provider/cm/calls/resolve.h"

#include <cerrno>
#include <utility>

#include "packet/host/clock.h"
#include "provider/cm/calls/bind.h"
#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/resolution.h"
#include "provider/cm/ids/service.h"

namespace urxe::cm {
namespace {

/// Binds an id that is not bound: to `source`, or else to the wildcard of the family.
Expected<void, Errno> bind_for(Service& service, CmId& id, const Address& source,
                               const Address& destination) {
  if (id.state != IdState::kIdle) return {};
  Address local = source;
  if (!local.is_set()) local = make_address(destination.family(), Gid{}, 0, 0);
  return bind_id(service, id, local, BindFor::kConnecting);
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
  return start_resolution(service, id, *std::move(resolution));
}

}  // namespace

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

// On RoCE the resolved address is all there is to a route. Linux still refuses a timeout of 0.
Expected<void, Errno> resolve_route(CmFile& file, uint32_t number, uint32_t timeout_ms) {
  if (timeout_ms == 0) return error(EINVAL);
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    if (id.state != IdState::kAddressResolved) return error(EINVAL);
    id.paths[0].traffic_class = id.options.tos.value_or(0);
    if (id.options.ack_timeout && *id.options.ack_timeout > 0) {
      id.paths[0].packet_lifetime = static_cast<uint8_t>(*id.options.ack_timeout - 1);
    }
    auto told = service.post_result(id, plain_event(EventType::kRouteResolved));
    if (told) id.state = IdState::kRouteResolved;
    return told;
  });
}

}  // namespace urxe::cm
