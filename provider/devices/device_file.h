// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "packet/wire/ip/ip_network.h"

namespace urxe {

/// Behind a device's name, that of its table of counters; no device's name ends so.
inline constexpr std::string_view kCountersSuffix = ".counters";

/// The entries of a device's GID table. It has room to grow while GIDs keep their indexes; unused
/// entries are zero.
inline constexpr size_t kGidTableLength = 64;

/// A device as the tree describes it: one network interface as it was last seen.
struct DeviceDescription {
  std::string name;    ///< of the RDMA device: "urxe_eth0"
  std::string ifname;  ///< of the interface: "eth0"
  uint32_t ifindex = 0;
  uint32_t mtu = 0;          ///< of the interface, bytes
  uint32_t most_mtu = 0;     ///< that the device has of the interface's; 0: all
  uint64_t node_guid = 0;    ///< host byte order
  std::vector<Gid> gids;     ///< by GID index, at most kGidTableLength; all of type RoCE v2
  uint32_t speed_mbps = 0;   ///< of the link as shown: by the width and speed below
  uint8_t active_width = 2;  ///< as ibv_port_attr: 1 = 1X, 2 = 4X, 4 = 8X, 8 = 12X, 16 = 2X
  /// As ibv_port_attr: 4 = QDR, 16 = FDR, 32 = EDR, 64 = HDR, 128 = NDR.
  uint8_t active_speed = 32;
  bool link_up = true;  ///< the interface is up and has a carrier
  bool gone = false;    ///< the interface does not exist any more
  uint32_t uverbs_number = 0;
  std::string port;  ///< of DPDK, which carries the packets; empty: none
  /// The addresses that the device has and no interface of the kernel: those of a port of DPDK that
  /// the kernel knows nothing of. `ifname` and `ifindex` then are made up.
  std::vector<IpNetwork> networks;
  std::vector<Gid> gateways;  ///< of such a device; one of each family at most

  /// Whether the kernel has no interface for the device.
  [[nodiscard]] bool is_fixed() const { return !networks.empty(); }

  friend bool operator==(const DeviceDescription&, const DeviceDescription&) = default;
};

/// The text of <tree>/devices/<name>: "key=value" lines.
std::string format_device(const DeviceDescription& device);

/// Reads what format_device() wrote. Keys it does not know are skipped. The error says which line
/// is wrong or which key is missing.
Expected<DeviceDescription, std::string> parse_device(std::string_view text);

/// Reads <tree>/devices/<name>. `tree` is what URXE_TREE names. Thread-safe.
Expected<DeviceDescription, std::string> read_device(const std::string& tree,
                                                     const std::string& name);

/// All of <tree>/devices that can be read, by name. Thread-safe.
std::vector<DeviceDescription> read_devices(const std::string& tree);

}  // namespace urxe
