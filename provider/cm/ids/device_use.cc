// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/device_use.h"

#include <cerrno>

#include "packet/host/clock.h"
#include "provider/cm/ids/id_report.h"
#include "provider/cm/ids/service.h"
#include "provider/runtime/device/device_registry.h"

namespace urxe::cm {

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

void prepare_devices(Service& service) {
  for (const DeviceDescription& description : list_runtime_devices()) {
    if (description.gone) continue;
    auto device = use_device(service, description.name);
    if (!device) continue;
    RuntimeDevice::Guard guard(*(*device)->runtime);
    (void)(*device)->runtime->open_addresses();
  }
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
  id.device->communications[comm.value()] = id.number;
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
    device.listeners.emplace(key, listener);
    device.listen_points.emplace(listener, ListenPoint{key, {}});
  }
  device.listen_points[listener].owners.push_back(id.number);
  id.listens_on.emplace_back(&device, listener);
  id.told = {};
  return {};
}

void stop_listening(CmId& id) {
  for (auto [device, listener] : std::exchange(id.listens_on, {})) {
    forget_report(id, *device);
    auto point = device->listen_points.find(listener);
    if (point == device->listen_points.end()) continue;
    std::erase(point->second.owners, id.number);
    if (!point->second.owners.empty()) continue;
    device->listeners.erase(point->second.key);
    device->listen_points.erase(point);
    RuntimeDevice::Guard guard(*device->runtime);
    device->runtime->stop_listening(ListenerId(listener));
  }
}

}  // namespace urxe::cm
