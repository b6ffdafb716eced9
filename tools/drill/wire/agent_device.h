// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"

namespace urxe::drill {

inline constexpr uint8_t kIbPort = 1;

/// An open device, and the address that it takes part with.
struct AgentDevice {
  std::unique_ptr<ibv_context, int (*)(ibv_context*)> context{nullptr, &ibv_close_device};
  std::string name;
  uint8_t gid_index = 0;
  Gid gid;
  ibv_port_attr port{};
  ibv_device_attr limits{};
};

/// Opens the device, or the first one, if `name` is empty. Without an index it takes the first
/// RoCEv2 GID of IPv4, else of IPv6 other than link-local. The error is a line for the user.
Expected<AgentDevice, std::string> open_device(const std::string& name,
                                               std::optional<unsigned> gid_index);

}  // namespace urxe::drill
