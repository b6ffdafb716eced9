// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/sysfs_tree.h"

#include <fmt/format.h>

#include <string_view>

#include "provider/devices/counter_names.h"
#include "provider/devices/identity.h"
#include "provider/devices/interface_sysfs.h"
#include "provider/devices/link_rate.h"

namespace urxe {
namespace {

/// Above the numbers of a machine's real devices.
constexpr uint32_t kFirstUverbsNumber = 192;
/// libibumad looks for no umad node with a higher number.
constexpr uint32_t kMostUmads = 64;
constexpr const char* kUnreadable = "!\n";

/// Files below one directory, one line each.
class Folder {
 public:
  Folder(TreeContent& tree, std::string path) : tree_(tree), path_(std::move(path)) {}

  void add(const std::string& name, std::string_view line) {
    tree_.files[path_ + "/" + name] = std::string(line) + "\n";
  }
  void add_empty(const std::string& name) { tree_.files[path_ + "/" + name] = ""; }
  void link(const std::string& name, std::string target) {
    tree_.links[path_ + "/" + name] = std::move(target);
  }
  [[nodiscard]] Folder below(const std::string& name) const { return {tree_, path_ + "/" + name}; }

 private:
  TreeContent& tree_;
  std::string path_;
};

/// Applications take the last component of the device's directory for a PCI address (some copy it
/// into 16 bytes), so it looks like one, in a domain that no PCI host bridge has.
std::string bus_address(size_t index) {
  return fmt::format("fe75:{:02x}:{:02x}.0", index / 32, index % 32);
}

std::string format_guid(uint64_t guid) {
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", guid >> 48, guid >> 32 & 0xffff,
                     guid >> 16 & 0xffff, guid & 0xffff);
}

std::string format_gid(const Gid& gid) {
  std::string text;
  for (size_t i = 0; i < gid.bytes.size(); i += 2) {
    text += fmt::format("{}{:02x}{:02x}", i == 0 ? "" : ":", gid.bytes[i], gid.bytes[i + 1]);
  }
  return text;
}

/// The same text for each device, so that all of them share the files' memory.
template <class Names>
void add_counters(Folder folder, const Names& names, size_t first_column) {
  for (size_t i = 0; i < names.size(); ++i) {
    folder.add(std::string(names[i]), fmt::format("@{}", first_column + i));
  }
}

void add_port(Folder port) {
  port.add("lid", "0x0");
  port.add("lid_mask_count", "0");
  port.add("sm_lid", "0x0");
  port.add("sm_sl", "0");
  // IBV_PORT_CM_SUP. (Linux has IBV_PORT_IP_BASED_GIDS in ibv_query_port() only.)
  port.add("cap_mask", "0x00010000");
  port.add("link_layer", "Ethernet");
  port.below("pkeys").add("0", "0xffff");
  add_counters(port.below("counters"), kPortCounterNames, 0);
  add_counters(port.below("hw_counters"), kHardwareCounterNames, kPortCounterNames.size());
  for (size_t group = 0; group < kCmCounterGroups.size(); ++group) {
    add_counters(port.below(std::string(kCmCounterGroups[group])), kCmMessageNames,
                 cm_counter_column(group));
  }
}

/// The files of /sys/class/infiniband/D.
void add_verbs_device(Folder folder, const DeviceDescription& device) {
  folder.add("node_type", "1: CA");
  folder.add("node_guid", format_guid(device.node_guid));
  folder.add("sys_image_guid", format_guid(device.node_guid));
  folder.add("node_desc", node_description(device.ifname));
  folder.add("fw_ver", kFirmwareVersion);
  folder.add("hca_type", kHcaType);
  folder.add("hw_rev", fmt::format("{:x}", kHardwareVersion));
  folder.add("board_id", kHcaType);
  folder.add("uevent", "NAME=" + device.name);
  folder.link("device", "../..");
  folder.link("subsystem", "../../../../../class/infiniband");
  // mlx5's: the traffic class that an administrator gives to all queue pairs. None is given.
  folder.below("tc/1").add_empty("traffic_class");
  add_counters(folder.below("diag_counters"), kDiagCounterNames, kDiagColumns);
  add_port(folder.below("ports/1"));
}

/// The files of /sys/class/infiniband_verbs/uverbsN.
void add_uverbs(Folder folder, const DeviceDescription& device) {
  folder.add("ibdev", device.name);
  folder.add("dev", "1:3");  // the null device's: see provider/presence
  folder.add("abi_version", "1");
  folder.link("device", "../..");
  folder.link("subsystem", "../../../../../class/infiniband_verbs");
}

/// The files of /sys/class/infiniband_mad/umadN.
void add_umad(Folder folder, const DeviceDescription& device) {
  folder.add("ibdev", device.name);
  folder.add("port", "1");
  folder.add("dev", "1:3");  // the null device's: see provider/presence
  folder.link("device", "../..");
  folder.link("subsystem", "../../../../../class/infiniband_mad");
}

/// The files of /sys/class/infiniband/D/device, which look like those of a PCI device.
void add_bus_device(Folder folder, const DeviceDescription& device) {
  InterfacePlace place = read_interface_place(device.ifname, device.ifindex);
  std::string vendor = fmt::format("0x{:04x}", kSysfsVendor);
  std::string part = fmt::format("0x{:04x}", kSysfsDevice);
  folder.add("vendor", vendor);
  folder.add("device", part);
  folder.add("subsystem_vendor", vendor);
  folder.add("subsystem_device", part);
  folder.add("class", "0x020000");
  folder.add("revision", fmt::format("0x{:02x}", kHardwareVersion));
  folder.add("numa_node", std::to_string(place.numa_node));
  folder.add("local_cpus", place.local_cpus);
  folder.add("local_cpulist", place.local_cpulist);
  // Applications compare the slots of devices. This one limits no rate that a port can have.
  folder.add("max_link_speed", "32.0 GT/s PCIe");
  folder.add("max_link_width", "16");
  folder.add("uevent", "DRIVER=urxe");
  if (!device.is_fixed())
    folder.below("net").link(device.ifname, "/sys/class/net/" + device.ifname);
}

/// The numbers of umad nodes that no real port has, as many as there are devices, or fewer.
std::vector<uint32_t> free_umads(size_t devices, const RealDevices& real) {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number < kMostUmads && numbers.size() < devices; ++number) {
    if (!real.has_umad(number)) numbers.push_back(number);
  }
  return numbers;
}

/// The node by which programs send and receive management datagrams at the device's port.
void add_management(TreeContent& tree, const DeviceDescription& device, size_t index,
                    uint32_t number) {
  const std::string umad = fmt::format("umad{}", number);
  const std::string address = bus_address(index);
  add_umad({tree, fmt::format("sys/devices/urxe/{}/infiniband_mad/{}", address, umad)}, device);
  tree.links["sys/class/infiniband_mad/" + umad] =
      fmt::format("../../devices/urxe/{}/infiniband_mad/{}", address, umad);
  tree.links["dev/infiniband/" + umad] = "/dev/null";
}

void add_device(TreeContent& tree, const DeviceDescription& device, size_t index) {
  std::string uverbs = fmt::format("uverbs{}", device.uverbs_number);
  std::string address = bus_address(index);
  Folder bus_device(tree, "sys/devices/urxe/" + address);
  add_bus_device(bus_device, device);
  add_verbs_device(bus_device.below("infiniband/" + device.name), device);
  add_uverbs(bus_device.below("infiniband_verbs/" + uverbs), device);
  std::string devices = "../../devices/urxe/" + address;
  tree.links["sys/class/infiniband/" + device.name] = devices + "/infiniband/" + device.name;
  tree.links["sys/class/infiniband_verbs/" + uverbs] = devices + "/infiniband_verbs/" + uverbs;
  tree.links["dev/infiniband/" + uverbs] = "/dev/null";
  for (auto& [path, text] : describe_port_state(device)) {
    tree.state[fmt::format("sys/devices/urxe/{}/infiniband/{}/ports/1/{}", address, device.name,
                           path)] = text;
  }
  tree.state["devices/" + device.name] = format_device(device);
  // An interface that was made anew is another one: its tree is, too.
  tree.files["interfaces/" + device.name] = fmt::format("{}\n", device.ifindex);
  tree.tables["devices/" + device.name + std::string(kCountersSuffix)] = kCounterTableBytes;
}

/// The connection manager of all urxe devices. A real one is not shown beside it, because librdmacm
/// uses only one. A program that needs the real one must run without `urxe run`.
void add_connection_manager(TreeContent& tree) {
  Folder folder(tree, "sys/class/misc/rdma_cm");
  folder.add("abi_version", "4");
  folder.add("dev", "1:3");  // the null device's: see provider/presence
  folder.add("uevent", "DEVNAME=infiniband/rdma_cm");
  tree.links["dev/infiniband/rdma_cm"] = "/dev/null";
}

void add_real(TreeContent& tree, const RealDevices& real) {
  auto link_all = [&](const std::string& folder, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      std::string path = fmt::format("{}/{}", folder, name);
      tree.links[path] = real.root + "/" + path;
    }
  };
  link_all("sys/class/infiniband", real.devices);
  link_all("sys/class/infiniband_verbs", real.verbs);
  link_all("sys/class/infiniband_mad", real.mads);
  link_all("dev/infiniband", real.nodes);
}

}  // namespace

void assign_uverbs_numbers(std::vector<DeviceDescription>& devices, const RealDevices& real) {
  uint32_t number = kFirstUverbsNumber;
  for (DeviceDescription& device : devices) {
    while (real.has_uverbs(number)) ++number;
    device.uverbs_number = number++;
  }
}

std::string node_description(const std::string& ifname) {
  return "urxe " + ifname;
}

std::map<std::string, std::string> describe_port_state(const DeviceDescription& device) {
  const LinkRate* rate = find_link_rate(device.active_width, device.active_speed);
  std::map<std::string, std::string> files;
  files["state"] = device.link_up ? "4: ACTIVE\n" : "1: DOWN\n";
  files["phys_state"] = device.link_up ? "5: LinkUp\n" : "3: Disabled\n";
  files["rate"] = fmt::format("{}\n", rate != nullptr ? rate->text : "");
  for (size_t i = 0; i < kGidTableLength; ++i) {
    const Gid gid = i < device.gids.size() ? device.gids[i] : Gid{};
    files[fmt::format("gids/{}", i)] = format_gid(gid) + "\n";
    // As in the kernel, the files of an empty entry exist but cannot be read.
    files[fmt::format("gid_attrs/types/{}", i)] = gid.is_zero() ? kUnreadable : "RoCE v2\n";
    // libibverbs takes a name that is no interface's for an error.
    files[fmt::format("gid_attrs/ndevs/{}", i)] =
        gid.is_zero() || device.is_fixed() ? kUnreadable : device.ifname + "\n";
  }
  return files;
}

TreeContent describe_tree(const std::vector<DeviceDescription>& devices, const RealDevices& real) {
  TreeContent tree;
  tree.directories = {"sys/class/infiniband",     "sys/class/infiniband_verbs",
                      "sys/class/infiniband_mad", "sys/devices/urxe",
                      "dev/infiniband",           "devices"};
  Folder(tree, "sys/class/infiniband_verbs")
      .add("abi_version", real.abi_version.empty() ? "6" : real.abi_version);
  Folder(tree, "sys/class/infiniband_mad")
      .add("abi_version", real.mad_abi_version.empty() ? "5" : real.mad_abi_version);
  add_real(tree, real);
  tree.files["lock"] = tree.files["users"] = "";
  const std::vector<uint32_t> umads = free_umads(devices.size(), real);
  for (size_t i = 0; i < devices.size(); ++i) {
    add_device(tree, devices[i], i);
    if (i < umads.size()) add_management(tree, devices[i], i, umads[i]);
  }
  if (!devices.empty()) add_connection_manager(tree);
  return tree;
}

}  // namespace urxe
