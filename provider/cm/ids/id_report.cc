// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/id_report.h"

#include <algorithm>
#include <cstring>

#include "provider/cm/ids/device_use.h"

namespace urxe::cm {
namespace {

/// As Linux numbers its states (enum rdma_cm_state).
uint8_t number_of(IdState state) {
  switch (state) {
    case IdState::kIdle:
      return 0;
    case IdState::kAddressQuery:
      return 1;
    case IdState::kAddressResolved:
      return 2;
    case IdState::kRouteResolved:
      return 4;
    case IdState::kConnect:
      return 5;
    case IdState::kDisconnect:
      return 6;
    case IdState::kBound:
      return 7;
    case IdState::kListen:
      return 8;
    case IdState::kDeviceGone:
      return 9;
  }
  return 0;
}

/// A destination that is not known yet has a family, and nothing else.
bool is_known(const Address& address) {
  const bool is_ip = address.family() == AF_INET || address.family() == AF_INET6;
  return is_ip && !(address.is_any() && address.port() == 0);
}

CmIdReport::SocketAddress bytes_of(const Address& address) {
  CmIdReport::SocketAddress bytes{};
  if (is_known(address)) {
    std::memcpy(bytes.data(), &address.storage, std::min(bytes.size(), address.size()));
  }
  return bytes;
}

CmIdReport report_on(const CmId& id) {
  CmIdReport report;
  report.number = id.number;
  report.qpn = id.qpn.value();
  report.port_space = static_cast<uint32_t>(id.space);
  report.qp_type = static_cast<uint8_t>(id.qp_type);
  report.state = number_of(id.state);
  report.source = bytes_of(id.source);
  report.destination = bytes_of(id.destination);
  return report;
}

void tell(DeviceUse& device, const CmIdReport& report) {
  RuntimeDevice::Guard guard(*device.runtime);
  device.runtime->progress().reports().tell_cm_id(report);
}

}  // namespace

void tell_observers(CmId& id) {
  const CmIdReport now = report_on(id);
  if (now == id.told) return;
  id.told = now;
  if (id.device != nullptr) tell(*id.device, now);
  for (const auto& [device, listener] : id.listens_on) {
    if (device != id.device) tell(*device, now);
  }
}

void forget_report(CmId& id, DeviceUse& device) {
  id.told = {};
  RuntimeDevice::Guard guard(*device.runtime);
  device.runtime->progress().reports().forget_cm_id(id.number);
}

}  // namespace urxe::cm
