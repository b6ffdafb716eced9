// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "provider/runtime/device/runtime_device.h"

namespace urxe::cm {

struct CmId;
class Service;

/// A service that ids listen for on a device, on one address or on all. Two ids share one if they
/// listen on the wildcards of IPv4 and of IPv6.
struct ListenPoint {
  using Key = std::pair<uint64_t, std::array<uint8_t, 16>>;
  Key key;
  std::vector<uint32_t> owners;  ///< ids
};

/// A device of this process that the connection manager uses.
struct DeviceUse {
  std::string name;
  std::shared_ptr<RuntimeDevice> runtime;
  std::unordered_set<uint32_t> ids;                         ///< bound to it
  std::unordered_map<uint32_t, uint32_t> communications;    ///< id by communication id
  std::unordered_map<uint32_t, ListenPoint> listen_points;  ///< by listener id
  std::map<ListenPoint::Key, uint32_t> listeners;           ///< their listener ids
  bool gone = false;
};

/// Calls `work` with the device's connection manager, with the device's lock held, and sends what
/// it has to send before it returns.
template <class Work>
auto with_cm(DeviceUse& device, Work work) {
  RuntimeDevice::Guard guard(*device.runtime);
  return work(device.runtime->device().cm());
}

// All with the service's lock held.

/// The device of that name, opened and started. ENODEV and the errors of RuntimeDevice::start().
Expected<DeviceUse*, Errno> use_device(Service& service, const std::string& name);
/// Calls `use(DeviceUse* or error)` for each device there is, those first whose addresses lead
/// further than their link. EMFILE: the device would leave the program too few descriptors, so it
/// is not used; a line on stderr says so once.
void for_all_devices(Service& service, const std::function<void(Expected<DeviceUse*, Errno>)>& use);
/// Starts all devices and opens their addresses, so that a later listen is quick. Ignores errors.
void prepare_devices(Service& service);
/// Binds the id to the device. EINVAL: it is bound to another one.
Expected<void, Errno> attach(CmId& id, DeviceUse& device);
/// The communication's events go to the id from now on.
void set_communication(CmId& id, CommId comm);
/// Ends the communication, with the messages that the peer still gets.
void drop_communication(CmId& id);
void detach(CmId& id);

/// `local` nullopt: all addresses. The errors of RuntimeDevice::listen().
Expected<void, Errno> listen_on(CmId& id, DeviceUse& device, uint64_t service_id,
                                std::optional<Gid> local);
void stop_listening(CmId& id);

}  // namespace urxe::cm
