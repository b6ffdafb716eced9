// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/device_use.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "packet/host/clock.h"
#include "packet/host/descriptor_room.h"
#include "provider/cm/ids/id_report.h"
#include "provider/cm/ids/service.h"
#include "provider/runtime/device/device_registry.h"
#include "provider/runtime/errors.h"

namespace urxe::cm {
namespace {

/// Descriptors that a listening device and some connections take.
constexpr size_t kDescriptorsOfADevice = 32;

bool leads_further(const DeviceDescription& device) {
  return std::ranges::any_of(
      device.gids, [](const Gid& gid) { return !gid.is_zero() && !gid.is_ipv6_link_local(); });
}

/// A host with many interfaces, for containers for example, has many devices. The first one is
/// always used.
bool has_room_for(const Service& service, const DeviceDescription& device) {
  if (service.devices.empty() || service.devices.contains(device.name)) return true;
  return has_descriptors(kDescriptorsOfADevice + spare_descriptors());
}

void tell_of_lack(const DeviceDescription& first) {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  print_error("too few descriptors to use all devices, so nothing listens on " + first.name +
              ", nor on some others. What to do: raise the limit with ulimit -n, or name the "
              "interfaces that are needed: urxe run --device INTERFACE");
}

}  // namespace

Expected<DeviceUse*, Errno> use_device(Service& service, const std::string& name) {
  if (auto known = service.devices.find(name); known != service.devices.end()) {
    if (known->second->gone) return error(ENODEV);
    return known->second.get();
  }
  auto runtime = open_runtime_device(name);
  if (!runtime) return Unexpected<Errno>(runtime.error());
  auto use = std::make_unique<DeviceUse>();
  use->name = name;
  use->runtime = *std::move(runtime);
  {
    RuntimeDevice::Guard guard(*use->runtime);
    if (auto started = use->runtime->start(); !started) return Unexpected<Errno>(started.error());
  }
  return service.devices.emplace(name, std::move(use)).first->second.get();
}

void for_all_devices(Service& service,
                     const std::function<void(Expected<DeviceUse*, Errno>)>& use) {
  auto devices = list_runtime_devices();
  std::stable_partition(devices.begin(), devices.end(), leads_further);
  for (const DeviceDescription& device : devices) {
    if (device.gone) continue;
    if (has_room_for(service, device)) {
      use(use_device(service, device.name));
    } else {
      tell_of_lack(device);
      use(error(EMFILE));
    }
  }
}

void prepare_devices(Service& service) {
  for_all_devices(service, [](Expected<DeviceUse*, Errno> device) {
    if (!device) return;
    RuntimeDevice::Guard guard(*(*device)->runtime);
    (void)(*device)->runtime->open_addresses();
  });
}

Expected<void, Errno> attach(CmId& id, DeviceUse& device) {
  if (id.device == &device) return {};
  if (id.device != nullptr) return error(EINVAL);
  device.ids.insert(id.number);
  id.device = &device;
  id.told = {};
  return {};
}

void set_communication(CmId& id, CommId comm) {
  try {
    id.device->communications[comm.value()] = id.number;
  } catch (const std::bad_alloc&) {
    with_cm(*id.device, [&](ConnectionManager& cm) { cm.destroy(comm, clock_now()); });
    throw;
  }
  id.comm = comm;
}

void drop_communication(CmId& id) {
  if (id.comm == CommId{}) return;
  const CommId comm = std::exchange(id.comm, CommId{});
  id.device->communications.erase(comm.value());
  with_cm(*id.device, [&](ConnectionManager& cm) { cm.destroy(comm, clock_now()); });
}

void detach(CmId& id) {
  if (id.device == nullptr) return;
  forget_report(id, *id.device);
  id.device->ids.erase(id.number);
  id.device = nullptr;
}

namespace {

/// The id listens there no more. With the last one the listener goes; it may be half entered.
void leave_listener(const CmId& id, DeviceUse& device, uint32_t listener,
                    const ListenPoint::Key& key) {
  const auto point = device.listen_points.find(listener);
  if (point != device.listen_points.end()) {
    std::erase(point->second.owners, id.number);
    if (!point->second.owners.empty()) return;
    device.listen_points.erase(point);
  }
  device.listeners.erase(key);
  RuntimeDevice::Guard guard(*device.runtime);
  device.runtime->stop_listening(ListenerId(listener));
}

}  // namespace

Expected<void, Errno> listen_on(CmId& id, DeviceUse& device, uint64_t service_id,
                                std::optional<Gid> local) {
  const ListenPoint::Key key{service_id, local.value_or(Gid{}).bytes};
  uint32_t listener = 0;
  if (auto known = device.listeners.find(key); known != device.listeners.end()) {
    listener = known->second;
  } else {
    auto added = device.runtime->listen(ServiceId(service_id), local);
    if (!added) return Unexpected<Errno>(added.error());
    listener = added->value();
  }
  try {
    device.listeners.emplace(key, listener);
    const auto [point, is_new] = device.listen_points.emplace(listener, ListenPoint{key, {}});
    point->second.owners.push_back(id.number);
    id.listens_on.emplace_back(&device, listener);
  } catch (const std::bad_alloc&) {
    leave_listener(id, device, listener, key);
    return error(ENOMEM);
  }
  id.told = {};
  return {};
}

void stop_listening(CmId& id) {
  for (auto [device, listener] : std::exchange(id.listens_on, {})) {
    forget_report(id, *device);
    const auto point = device->listen_points.find(listener);
    if (point == device->listen_points.end()) continue;
    leave_listener(id, *device, listener, ListenPoint::Key(point->second.key));
  }
}

}  // namespace urxe::cm
