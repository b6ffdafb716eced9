// SPDX-License-Identifier: BSD-2-Clause
// rdma_listen(3).
#include "provider/cm/calls/listen.h"

#include <cerrno>

#include "provider/cm/addresses/device_lookup.h"
#include "provider/cm/calls/bind.h"
#include "provider/cm/ids/service.h"
#include "provider/runtime/device/device_registry.h"

namespace urxe::cm {
namespace {

/// The largest backlog and the default, as in Linux (net.rdma_ucm.max_backlog).
constexpr uint32_t kMostBacklog = 1024;

/// Succeeds if one device listens, or if there is no device; else returns the first device's error.
Expected<void, Errno> listen_everywhere(Service& service, CmId& id, uint64_t service_id) {
  std::optional<Errno> first;
  bool any = false;
  for_all_devices(service, [&](Expected<DeviceUse*, Errno> device) {
    any = true;
    auto listening = device ? listen_on(id, **device, service_id, std::nullopt)
                            : Expected<void, Errno>(Unexpected<Errno>(device.error()));
    if (!listening && !first) first = listening.error();
  });
  if (!any) return check_descriptors();  // without one, devices cannot be listed
  if (id.listens_on.empty() && first) return Unexpected<Errno>(*first);
  return {};
}

Expected<void, Errno> start_listening(Service& service, CmId& id) {
  if (auto claimed = id.claim->listen(); !claimed) return claimed;
  const uint64_t service_id = service_of(id.space, id.source).value();
  if (id.source.is_any()) return listen_everywhere(service, id, service_id);
  // Only one loopback address is a GID. Requests to the others arrive there, too.
  auto local = find_local(id.source);
  if (!local) return Unexpected<Errno>(local.error());
  // A loopback address has bound no device.
  auto device = use_device(service, local->device);
  if (!device) return Unexpected<Errno>(device.error());
  return listen_on(id, **device, service_id, local->gid);
}

}  // namespace

Expected<void, Errno> listen(CmFile& file, uint32_t number, uint32_t backlog) {
  return Service::run(file, number, [&](Service& service, CmId& id) -> Expected<void, Errno> {
    if (id.state == IdState::kIdle) {
      const Address any = make_address(AF_INET, Gid{}, 0);
      if (auto bound = bind_id(service, id, any, BindFor::kAnything); !bound) return bound;
    }
    if (id.state != IdState::kBound) return error(EINVAL);
    if (auto listening = start_listening(service, id); !listening) {
      stop_listening(id);
      return listening;
    }
    const bool is_given = backlog > 0 && backlog < kMostBacklog;
    id.backlog.open(is_given ? backlog : kMostBacklog);
    id.state = IdState::kListen;
    return {};
  });
}

}  // namespace urxe::cm
