// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/sysfs_tree.h"

#include <gtest/gtest.h>

#include <set>

#include "provider/devices/counter_names.h"

namespace urxe {
namespace {

std::vector<DeviceDescription> two_devices() {
  std::vector<DeviceDescription> devices(2);
  devices[0].name = "urxe_a";
  devices[1].name = "urxe_b";
  devices[0].ifname = "a";
  devices[1].ifname = "b";
  const uint8_t address[4] = {192, 0, 2, 1};
  devices[0].gids = {Gid::from_ipv4(address)};
  return devices;
}

TEST(SysfsTree, UverbsNumbersAvoidRealOnes) {
  RealDevices real;
  real.verbs = {"uverbs192"};
  real.nodes = {"uverbs194"};
  auto devices = two_devices();
  assign_uverbs_numbers(devices, real);
  EXPECT_EQ(devices[0].uverbs_number, 193u);
  EXPECT_EQ(devices[1].uverbs_number, 195u);
}

// libibumad looks for umad0 to umad63.
TEST(SysfsTree, UmadNumbersAreSmallAndAvoidRealOnes) {
  RealDevices real;
  real.mads = {"umad0"};
  real.nodes = {"umad2"};
  const auto tree = describe_tree(two_devices(), real);
  EXPECT_EQ(tree.links.at("dev/infiniband/umad1"), "/dev/null");
  EXPECT_EQ(tree.links.at("dev/infiniband/umad3"), "/dev/null");
  EXPECT_EQ(tree.files.at("sys/devices/urxe/fe75:00:00.0/infiniband_mad/umad1/ibdev"), "urxe_a\n");
  EXPECT_EQ(tree.files.at("sys/devices/urxe/fe75:00:01.0/infiniband_mad/umad3/ibdev"), "urxe_b\n");
  EXPECT_EQ(tree.files.at("sys/devices/urxe/fe75:00:01.0/infiniband_mad/umad3/port"), "1\n");
  EXPECT_EQ(tree.files.at("sys/class/infiniband_mad/abi_version"), "5\n");
  real.mads.clear();
  for (int i = 0; i < 63; ++i) real.mads.push_back("umad" + std::to_string(i));
  const auto full = describe_tree(two_devices(), real);
  EXPECT_TRUE(full.links.contains("dev/infiniband/umad63"));
  EXPECT_FALSE(full.links.contains("dev/infiniband/umad64"));
}

TEST(SysfsTree, GidTable) {
  auto tree = describe_tree(two_devices(), {});
  std::string port = "sys/devices/urxe/fe75:00:00.0/infiniband/urxe_a/ports/1/";
  EXPECT_EQ(tree.state.at(port + "gids/0"), "0000:0000:0000:0000:0000:ffff:c000:0201\n");
  EXPECT_EQ(tree.state.at(port + "gid_attrs/types/0"), "RoCE v2\n");
  EXPECT_EQ(tree.state.at(port + "gid_attrs/ndevs/0"), "a\n");
  EXPECT_EQ(tree.state.at(port + "gids/1"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(tree.state.at(port + "gid_attrs/types/1"), "!\n");
  EXPECT_TRUE(tree.state.contains(port + "gids/63"));
  EXPECT_FALSE(tree.state.contains(port + "gids/64"));
}

TEST(SysfsTree, NoInterfaceOfAGidThatTheKernelHasNotGot) {
  auto devices = two_devices();
  devices[0].networks = {{devices[0].gids[0], 24}};
  auto tree = describe_tree(devices, {});
  std::string port = "sys/devices/urxe/fe75:00:00.0/infiniband/urxe_a/ports/1/";
  EXPECT_EQ(tree.state.at(port + "gid_attrs/types/0"), "RoCE v2\n");
  EXPECT_EQ(tree.state.at(port + "gid_attrs/ndevs/0"), "!\n");
}

// What NCCL reads beside the port's files.
TEST(SysfsTree, BusDeviceHasALinkAndTheDeviceATrafficClass) {
  auto tree = describe_tree(two_devices(), {});
  const std::string bus = "sys/devices/urxe/fe75:00:01.0/";
  EXPECT_EQ(tree.files.at(bus + "max_link_speed"), "32.0 GT/s PCIe\n");
  EXPECT_EQ(tree.files.at(bus + "max_link_width"), "16\n");
  EXPECT_EQ(tree.files.at(bus + "infiniband/urxe_b/tc/1/traffic_class"), "");
}

TEST(SysfsTree, EachCounterHasAColumnOfItsOwn) {
  auto tree = describe_tree(two_devices(), {});
  std::set<std::string> columns;
  for (const auto& [path, text] : tree.files) {
    const bool is_counter =
        path.find("counters/") != std::string::npos || path.find("/cm_") != std::string::npos;
    if (!is_counter || !path.starts_with("sys/devices/urxe/fe75:00:00.0")) {
      continue;
    }
    EXPECT_TRUE(text.starts_with("@") && text.ends_with("\n")) << path;
    EXPECT_TRUE(columns.insert(text).second) << path;
  }
  EXPECT_EQ(columns.size(), kDiagColumns + kDiagCounterNames.size());
  EXPECT_EQ(tree.tables.at("devices/urxe_a.counters"), 512u * 192 * 8);
}

// The defect: 300 devices took 234 MB, a page of memory for each counter of each device. Expect: a
// few pages for what only this device has.
TEST(SysfsTree, DevicesShareMostTexts) {
  const auto texts = [](const TreeContent& tree) {
    std::set<std::string> different;
    for (const auto& [path, text] : tree.files) different.insert(text);
    for (const auto& [path, text] : tree.state) different.insert(text);
    return different.size();
  };
  auto devices = two_devices();
  const size_t of_two = texts(describe_tree(devices, {}));
  devices.pop_back();
  EXPECT_LE(of_two, texts(describe_tree(devices, {})) + 12);
}

TEST(SysfsTree, DropCountersAreNamedAsTheirReasons) {
  for (size_t i = 0; i < static_cast<size_t>(DropReason::kCount); ++i) {
    auto reason = static_cast<DropReason>(i);
    size_t index = drop_counter_column(reason) - kPortCounterNames.size();
    ASSERT_TRUE(kHardwareCounterNames[index].starts_with("drop_"));
    EXPECT_EQ(kHardwareCounterNames[index].substr(5), drop_reason_name(reason));
  }
  for (size_t i = 0; i < static_cast<size_t>(MadDropReason::kCount); ++i) {
    auto reason = static_cast<MadDropReason>(i);
    size_t index = drop_counter_column(reason) - kPortCounterNames.size();
    ASSERT_TRUE(kHardwareCounterNames[index].starts_with("drop_mad_"));
    EXPECT_EQ(kHardwareCounterNames[index].substr(9), mad_drop_reason_name(reason));
  }
}

// As Linux has them: /sys/class/infiniband/D/ports/1/cm_tx_msgs/req.
TEST(SysfsTree, TheConnectionManagersMessagesAreCounted) {
  auto tree = describe_tree(two_devices(), {});
  const std::string port = "sys/devices/urxe/fe75:00:00.0/infiniband/urxe_a/ports/1/";
  for (const char* group : {"cm_tx_msgs", "cm_tx_retries", "cm_rx_msgs", "cm_rx_duplicates"}) {
    for (const char* message : {"req", "mra", "rej", "rep", "rtu", "dreq", "drep", "sidr_req",
                                "sidr_rep", "lap", "apr"}) {
      EXPECT_TRUE(tree.files.contains(port + group + "/" + message)) << group << " " << message;
    }
  }
}

// Their order is that of their attributes.
TEST(SysfsTree, TheMessagesCountersAreNamedAsTheirMessages) {
  for (size_t i = 0; i < kCmMessageNames.size(); ++i) {
    std::string name =
        cm_attribute_name(static_cast<CmAttribute>(static_cast<size_t>(CmAttribute::kReq) + i));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(name, kCmMessageNames[i]);
  }
}

TEST(SysfsTree, RealDevicesAreAbsoluteLinks) {
  RealDevices real{"/root", {"mlx5_0"}, {"uverbs0"}, {"rdma_cm", "uverbs0"}, "6"};
  auto tree = describe_tree({}, real);
  EXPECT_EQ(tree.links.at("sys/class/infiniband/mlx5_0"), "/root/sys/class/infiniband/mlx5_0");
  EXPECT_EQ(tree.links.at("dev/infiniband/rdma_cm"), "/root/dev/infiniband/rdma_cm");
  EXPECT_EQ(tree.links.size(), 4u);
}

TEST(SysfsTree, TheConnectionManagerIsOursWhereADeviceIs) {
  RealDevices real{"/root", {}, {}, {"rdma_cm"}, "6"};
  auto tree = describe_tree(two_devices(), real);
  EXPECT_EQ(tree.links.at("dev/infiniband/rdma_cm"), "/dev/null");
  EXPECT_EQ(tree.files.at("sys/class/misc/rdma_cm/abi_version"), "4\n");
  tree = describe_tree({}, {});
  EXPECT_FALSE(tree.links.contains("dev/infiniband/rdma_cm"));
  EXPECT_FALSE(tree.files.contains("sys/class/misc/rdma_cm/abi_version"));
}

}  // namespace
}  // namespace urxe
