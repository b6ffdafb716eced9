// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
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

/// What ids listen for on a device: a service, on one address or on all. Several ids may share one:
/// wildcards of IPv4 and of IPv6.
struct ListenPoint {
  using Key = std::pair<uint64_t, std::array<uint8_t, 16>>;
  Key key;
  std::vector<uint32_t> owners;  ///< ids
};

/// A device of this process while there are ids that use it.
struct DeviceUse {
  std::string name;
  std::shared_ptr<RuntimeDevice> runtime;
  std::unordered_set<uint32_t> ids;                         ///< bound to it
  std::unordered_map<uint32_t, uint32_t> communications;    ///< id by communication id
  std::unordered_map<uint32_t, ListenPoint> listen_points;  ///< by listener id
  std::map<ListenPoint::Key, uint32_t> listeners;           ///< their listener ids
  bool gone = false;
};

/// Calls `work` with the device's connection manager; what it sends goes out before this returns.
template <class Work>
auto with_cm(DeviceUse& device, Work work) {
  Progress::Guard guard(device.runtime->progress());
  return work(device.runtime->device().cm());
}

// All with the service's lock held.

/// The device of that name, opened and with its engine running. ENODEV and what start() says.
Expected<DeviceUse*, Errno> use_device(Service& service, const std::string& name);
/// Has all devices ready to listen on, as far as that goes: what takes its time.
void prepare_devices(Service& service);
/// Binds the id to the device. Where it is bound already: to another is EINVAL.
Expected<void, Errno> attach(CmId& id, DeviceUse& device);
/// From now on the communication's events are the id's.
void set_communication(CmId& id, CommId comm);
/// Gives the communication up. What the peer is owed is sent.
void drop_communication(CmId& id);
void detach(CmId& id);

/// `local` nullopt: all addresses. EADDRINUSE and such.
Expected<void, Errno> listen_on(CmId& id, DeviceUse& device, uint64_t service_id,
                                std::optional<Gid> local);
void stop_listening(CmId& id);

}  // namespace urxe::cm
