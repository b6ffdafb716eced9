// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/device.h"

#include <algorithm>

#include "tests/conformance/support/options.h"

namespace conformance {
namespace {

ContextPtr open_by_name(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ContextPtr context;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (name.empty() || name == ibv_get_device_name(devices[i]))
      context.reset(ibv_open_device(devices[i]));
  }
  if (devices != nullptr) ibv_free_device_list(devices);
  return context;
}

uint8_t choose_gid_index(ibv_context* context, uint8_t port, int length) {
  if (options().gid_index >= 0) return static_cast<uint8_t>(options().gid_index);
  for (int i = 0; i < length; ++i) {
    ibv_gid_entry entry{};
    if (ibv_query_gid_ex(context, port, static_cast<uint32_t>(i), &entry, 0) == 0 &&
        entry.gid_type == IBV_GID_TYPE_ROCE_V2)
      return static_cast<uint8_t>(i);
  }
  return 0;
}

}  // namespace

Device Device::open() {
  Device device;
  device.port = options().port;
  device.context = open_by_name(options().device);
  ibv_context* context = device.context.get();
  if (context == nullptr) return device;
  EXPECT_EQ(ibv_query_device_ex(context, nullptr, &device.attr), 0);
  EXPECT_EQ(ibv_query_port(context, device.port, &device.port_attr), 0);
  device.gid_index = choose_gid_index(context, device.port, device.port_attr.gid_tbl_len);
  EXPECT_EQ(ibv_query_gid(context, device.port, device.gid_index, &device.gid), 0);
  return device;
}

ibv_ah_attr Device::own_address() const {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = port;
  address.dlid = port_attr.lid;
  address.grh.dgid = gid;
  address.grh.sgid_index = gid_index;
  address.grh.hop_limit = 64;
  return address;
}

ibv_mtu Device::path_mtu() const {
  return std::min(port_attr.active_mtu, IBV_MTU_1024);
}

}  // namespace conformance
