// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "tests/conformance/support/objects.h"

namespace conformance {

/// The device under test, opened, and what it says about itself.
struct Device {
  /// Opens the device that the options name; `context` stays null where there is none.
  static Device open();

  bool offers(unsigned capability) const {
    return (attr.orig_attr.device_cap_flags & capability) != 0;
  }
  /// The address of this port, as a destination: all tests send to themselves.
  ibv_ah_attr own_address() const;
  /// The path MTU of connections: at most 1024 bytes.
  ibv_mtu path_mtu() const;
  /// In bytes.
  uint32_t path_mtu_bytes() const { return 128U << path_mtu(); }

  ContextPtr context;
  ibv_device_attr_ex attr{};
  ibv_port_attr port_attr{};
  uint8_t port = 1;
  uint8_t gid_index = 0;
  ibv_gid gid{};
};

}  // namespace conformance
